#include "master/api/rpc/batch.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

void GoOn(const Edge& edge, std::shared_ptr<Batch> batch) {
  if (batch->next == batch->ids.size()) return batch->done(absl::OkStatus());
  const int32_t id = batch->ids[batch->next++];
  batch->act(id, [&edge, batch, id](const absl::Status& status) {
    batch->answer(id, status);
    batch->note(absl::StrCat(batch->noun, " ", id), status);
    edge.pool->Post([&edge, batch] { GoOn(edge, batch); });
  });
}

}  // namespace

absl::Status TooMany(int count, std::string_view noun) {
  return absl::InvalidArgumentError(absl::StrCat(count, " ", std::string(noun),
                                                 "s are named; at most ", kMostInBatch,
                                                 " can be changed at once: narrow the filter"));
}

absl::StatusOr<std::vector<int32_t>> EachOnce(const google::protobuf::RepeatedField<int32_t>& ids,
                                              std::string_view noun) {
  if (ids.size() > kMostInBatch) return TooMany(ids.size(), noun);
  std::vector<int32_t> each;
  for (const int32_t id : ids) {
    if (std::count(each.begin(), each.end(), id) == 0) each.push_back(id);
  }
  return each;
}

void Start(const Edge& edge, Batch batch) { GoOn(edge, std::make_shared<Batch>(std::move(batch))); }

}  // namespace det::api
