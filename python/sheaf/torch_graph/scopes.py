"""Layers in the modules in which they are called.

A module's call becomes a container of the model file, under the module's own name, so that every parameter keeps
PyTorch's full name. If that is impossible, the container is dissolved: its layers go one level up, under names with
dots."""
from .value import Constant, Layer, Parameter, Result


class Scope:
    """A call of a module: `items` are Layers and Scopes in the order in which they run."""

    def __init__(self, key, path, parent):
        self.key, self.path, self.parent, self.items = key, path, parent, []
        self.checkpoint = False  # nothing in it is kept for the backward pass

    def chain(self):
        """The scope and those around it, innermost first."""
        scope = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def layers(self):
        """All layers within, in the order in which they run."""
        for item in self.items:
            if isinstance(item, Scope):
                yield from item.layers()
            else:
                yield item

    def holds(self, path):
        """Whether a full name may belong to a layer in this scope."""
        return self.path == "" or path.startswith(self.path + ".")


def arrange(layers, module):
    """The outermost Scope of `layers`, in the modules of `module`."""
    root, around = Scope("", "", None), []
    for layer in layers:
        common = 0
        while common < min(len(around), len(layer.stack)) and around[common].key == layer.stack[common][0]:
            common += 1
        del around[common:]
        for key, path in layer.stack[common:]:
            parent = around[-1] if around else root
            around.append(Scope(key, path, parent))
            parent.items.append(around[-1])
        (around[-1] if around else root).items.append(layer)
    _dissolve(root, module)
    return root


def _dissolve(scope, module):
    """Moves the layers of calls that can't be containers into the scope around them, the innermost calls first."""
    items = []
    for item in scope.items:
        if isinstance(item, Scope):
            _dissolve(item, module)
            if _is_layer(item, module):
                item.items[0].hint = item.path
            elif scope.holds(item.path) and all(item.holds(path) for path in _paths(item)):
                items.append(item)
                continue
            items += item.items
            for inner in item.items:
                if isinstance(inner, Scope):
                    inner.parent = scope
        else:
            items.append(item)
    scope.items = items


def _paths(scope):
    for item in scope.items:
        if isinstance(item, Scope):
            yield item.path
        elif item.owner is not None:
            yield item.owner


def _is_layer(scope, module):
    """Whether the call is one layer of the model file."""
    if len(scope.items) != 1 or not isinstance(scope.items[0], Layer):
        return False
    layer = scope.items[0]
    if layer.owner is not None:
        return layer.owner == scope.path
    return layer.stack[-1][1] == scope.path and not any(module.get_submodule(scope.path).children())


def place_tensors(root):
    """Makes layers of the parameters and constants that layers take as inputs.

    A constant goes where it is used; a parameter to the scope that contains all its uses, and its name."""
    users, parameters = _where(root), {}
    for layer, scope in list(users.items()):
        constants = {}
        for position, value in enumerate(layer.inputs):
            if isinstance(value, Parameter):
                parameters.setdefault(value, []).append((layer, position, scope))
            elif isinstance(value, Constant):
                if value not in constants:
                    constants[value] = _tensor_layer("Constant", value, layer)
                    scope.items.insert(scope.items.index(layer), constants[value])
                layer.inputs[position] = constants[value].results[0]
    for value, uses in parameters.items():
        name, scope = _home(value, [scope for _, _, scope in uses])
        made = _tensor_layer("Parameter" if value.trained else "Buffer", value, uses[0][0])
        made.owner, made.parameters = name, {"": value}
        first = next(i for i, item in enumerate(scope.items) if any(layer is item or item in users[layer].chain() for layer, _, _ in uses))
        scope.items.insert(first, made)
        for layer, position, _ in uses:
            layer.inputs[position] = made.results[0]


def _tensor_layer(kind, value, user):
    arguments = {"value": value} if kind == "Constant" else {"shape": [size.fixed for size in value.shape]}
    layer = Layer(kind, [], arguments, user.stack, user.source, operator=user.operator)
    layer.results = [Result(value.shape, value.dtype, layer, 0)]
    return layer


def _home(parameter, scopes):
    first, *others = scopes
    for scope in first.chain():
        if all(scope in other.chain() for other in others):
            for name in parameter.aliases:
                if scope.holds(name):
                    return name, scope


def _where(root):
    """Layer → the Scope that contains it."""
    found = {}
    for item in root.items:
        if isinstance(item, Scope):
            found.update(_where(item))
        else:
            found[item] = root
    return found


def flow(root, results):
    """(inputs, outputs): for each Scope, the values made outside and used inside, and those made inside and used
    outside. Calls that use nothing from outside, only parameters, are dissolved first: a container takes an input."""
    inputs, outputs = _crossing(root, results)
    while _open(root, inputs):
        inputs, outputs = _crossing(root, results)
    return inputs, outputs


def _open(scope, inputs):
    """Dissolves the Scopes within that have no inputs. Returns whether there were any."""
    items, found = [], False
    for item in scope.items:
        if isinstance(item, Scope):
            found |= _open(item, inputs)
            if not inputs.get(item):
                for inner in item.items:
                    if isinstance(inner, Scope):
                        inner.parent = scope
                items += item.items
                found = True
                continue
        items.append(item)
    scope.items = items
    return found


def _crossing(root, results):
    where, inputs, outputs = _where(root), {}, {}

    def use(value, user):
        maker = where[value.layer] if isinstance(value, Result) else root
        for scope, around, crossing in [(s, set(maker.chain()), inputs) for s in user.chain()] + \
                                       [(s, set(user.chain()), outputs) for s in maker.chain()]:
            if scope not in around and value not in crossing.setdefault(scope, []):
                crossing[scope].append(value)

    def visit(scope):
        for item in scope.items:
            if isinstance(item, Scope):
                visit(item)
            else:
                for value in item.inputs:
                    use(value, scope)

    visit(root)
    for value in results:
        use(value, root)
    return inputs, outputs
