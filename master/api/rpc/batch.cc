#include "master/api/rpc/batch.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

void RunNext(base::ThreadPool& pool, std::shared_ptr<Batch> batch) {
  if (batch->next == batch->ids.size()) return batch->done(absl::OkStatus());
  const int32_t id = batch->ids[batch->next++];
  batch->act(id, [&pool, batch, id](const absl::Status& status) {
    batch->respond(id, status);
    batch->record(absl::StrCat(batch->noun, " ", id), status);
    pool.Post([&pool, batch] { RunNext(pool, batch); });
  });
}

}  // namespace

absl::Status TooManyError(int count, std::string_view noun) {
  return absl::InvalidArgumentError(absl::StrCat(count, " ", std::string(noun),
                                                 "s are selected; at most ", kMaxBatchSize,
                                                 " can be changed at once; narrow the filter"));
}

absl::StatusOr<std::vector<int32_t>> GetUniqueIds(
    const google::protobuf::RepeatedField<int32_t>& ids, std::string_view noun) {
  if (ids.size() > kMaxBatchSize) return TooManyError(ids.size(), noun);
  std::vector<int32_t> each;
  for (const int32_t id : ids) {
    if (std::count(each.begin(), each.end(), id) == 0) each.push_back(id);
  }
  return each;
}

void Start(base::ThreadPool& pool, Batch batch) {
  RunNext(pool, std::make_shared<Batch>(std::move(batch)));
}

}  // namespace det::api
