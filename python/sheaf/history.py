"""The results of a training run."""
import html


class History(list):
    """A dict an epoch: "epoch", "steps", "rows", "train_loss" (mean over rows, each as its step found it), "learning_rate",
    "seconds" (without evaluation), and with evaluation "eval_loss" and the metrics, as "eval_accuracy". `history["train_loss"]`
    lists that of all epochs."""

    def __getitem__(self, which):
        return [record.get(which) for record in self] if isinstance(which, str) else super().__getitem__(which)

    def line(self, which):
        """An epoch in one line."""
        record = self[which]
        parts = [f"epoch {record['epoch']}"]
        for name in record:
            if name == "train_loss" or name.startswith("eval_"):
                parts.append(f"{name.replace('_', ' ')} {record[name]:.4g}")
        return "  ".join([*parts, f"{record['rows'] / record['seconds']:.4g} rows/s"])

    def __str__(self):
        return "\n".join(self.line(i) for i in range(len(self)))

    def _repr_html_(self):
        names = list(dict.fromkeys(name for record in self for name in record))
        cell = lambda value: f"<td>{html.escape(f'{value:.4g}' if isinstance(value, float) else str(value))}</td>"  # noqa: E731
        rows = "".join("<tr>" + "".join(cell(record.get(name, "")) for name in names) + "</tr>" for record in self)
        return "<table><tr>" + "".join(f"<th>{name.replace('_', ' ')}</th>" for name in names) + f"</tr>{rows}</table>"
