// Messages through MPI. It uses only MPI-2, so Open MPI, MPICH and its descendants all work.
#include "runtime/world/messages.h"

#include <mpi.h>

#include <cstdlib>
#include <vector>

namespace sheaf {
namespace {

class MpiMessages : public Messages {
 public:
  MpiMessages() {
    // Errors come back as codes: the runtime names the rank and ends all processes itself.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (MPI_Comm& channel : channels_) {
      MPI_Comm_dup(MPI_COMM_WORLD, &channel);
      MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));
  }

  int send(Channel channel, int to, const void* bytes, size_t size) override {
    return begin([&](MPI_Request* request) {
      return MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, 0, channels_[channel], request);
    });
  }

  int receive(Channel channel, int from, void* bytes, size_t size) override {
    return begin([&](MPI_Request* request) {
      return MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from == kAny ? MPI_ANY_SOURCE : from, 0, channels_[channel],
                       request);
    });
  }

  State state(int operation) override {
    Operation& one = operations_[static_cast<size_t>(operation)];
    State state;
    MPI_Status status;
    int done = 0;
    const int code = one.code == MPI_SUCCESS ? MPI_Test(&one.request, &done, &status) : one.code;
    if (code != MPI_SUCCESS) {
      state = {true, true, 0, text_of(code)};
    } else if (done) {
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      state = {true, false, static_cast<size_t>(count), {}};
    }
    if (state.done) free_.push_back(operation);
    return state;
  }

  void abandon(int operation) override {
    Operation& one = operations_[static_cast<size_t>(operation)];
    if (one.code == MPI_SUCCESS && one.request != MPI_REQUEST_NULL) MPI_Cancel(&one.request);
  }

  void leave() override {
    for (MPI_Comm& channel : channels_) MPI_Comm_free(&channel);
    MPI_Finalize();
  }

 private:
  struct Operation {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
  };

  template <typename Begin>
  int begin(const Begin& call) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(operations_.size()));
      operations_.emplace_back();
    }
    const int number = free_.back();
    free_.pop_back();
    Operation& one = operations_[static_cast<size_t>(number)];
    one = {};
    one.code = call(&one.request);
    return number;
  }

  static std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return std::string(text, static_cast<size_t>(length));
  }

  MPI_Comm channels_[2];
  int rank_ = 0, size_ = 1;
  std::vector<Operation> operations_;
  std::vector<int> free_;
};

/// If one process can't read another's memory (in most containers), Open MPI passes messages on a machine through shared
/// memory, three pieces of 32 KiB each time both processes call into it. Waiting processes here call some thousand times a
/// second, so these settings make the pieces larger.
void set_sizes_of_pieces() {
  setenv("OMPI_MCA_btl_vader_max_send_size", "1048576", 0);
  setenv("OMPI_MCA_pml_ob1_send_pipeline_depth", "4", 0);
}

/// Whatever ends this process, the launcher must be able to go on.
void leave_nothing_held() {
  // PMIx shares what processes of a machine know of each other in memory with locks that outlive their holder: the launcher would
  // wait for one of a killed process for ever (openpmix issue 1233). Here processes ask the launcher instead.
  setenv("PMIX_MCA_gds", "hash", 0);
  // Open MPI's handlers of SIGSEGV and the like print the stack, for which they take locks, which the crash may have left held: then
  // the process never ends.
  setenv("OMPI_MCA_opal_signal", "", 0);
}

}  // namespace
}  // namespace sheaf

extern "C" __attribute__((visibility("default"))) sheaf::Messages* sheaf_open_messages(std::string& why) {
  // The user's own settings count; MPI libraries that don't know these names ignore them.
  sheaf::set_sizes_of_pieces();
  sheaf::leave_nothing_held();
  int has = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &has) != MPI_SUCCESS || has < MPI_THREAD_SERIALIZED) {
    why = "the MPI library can't be used by several threads (MPI_THREAD_SERIALIZED)";
    return nullptr;
  }
  return new sheaf::MpiMessages;
}
