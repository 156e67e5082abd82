#include "master/api/common/list_request.h"

#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "gtest/gtest.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

// A list that is cut: its response has `total` elements.
absl::Status CheckWorkspaces(int offset, int total) {
  v1::GetWorkspacesRequest request;
  request.set_offset(offset);
  v1::GetWorkspacesResponse response;
  response.mutable_pagination()->set_total(total);
  return CheckListResponse(request, response);
}

store::Range Cut(const store::Window& window, int total) { return store::Resolve(window, total); }

TEST(ListRequest, RefusesNegativeLimit_WhenListIsCut) {
  v1::GetWorkspacesRequest request;
  request.set_limit(-1);
  EXPECT_EQ(CheckListRequest(request).code(), absl::StatusCode::kInvalidArgument);
  v1::GetExperimentsRequest query;
  query.set_limit(-1);
  EXPECT_TRUE(CheckListRequest(query).ok());
}

TEST(ListRequest, RefusesOffsetBeyondTheEnd_WhenListIsCut) {
  EXPECT_TRUE(CheckWorkspaces(0, 0).ok());
  EXPECT_TRUE(CheckWorkspaces(3, 3).ok());
  EXPECT_TRUE(CheckWorkspaces(-3, 3).ok());
  EXPECT_EQ(CheckWorkspaces(4, 3).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckWorkspaces(-4, 3).code(), absl::StatusCode::kInvalidArgument);
  v1::GetExperimentsRequest query;
  query.set_offset(4);
  v1::GetExperimentsResponse response;
  response.mutable_pagination()->set_total(3);
  EXPECT_TRUE(CheckListResponse(query, response).ok());
}

TEST(ListRequest, ReturnsAllForMinusOne_AndNoneForMinusTwo) {
  EXPECT_EQ(Cut(ToWindow(0, -1), 300).end, 300);
  EXPECT_EQ(Cut(ToPage(0, -1), 300).end, 300);
  EXPECT_EQ(Cut(ToPage(0, -3), 300).end, 300);
  EXPECT_EQ(Cut(ToWindow(0, -2), 300).end, 0);
}

TEST(ListRequest, ReturnsOnePage_WhenPageHasNoLimit) {
  EXPECT_EQ(Cut(ToWindow(0, 0), 300).end, 300);
  EXPECT_EQ(Cut(ToPage(0, 0), 300).end, kDefaultPage);
  EXPECT_EQ(Cut(ToPage(250, 0), 300).end, 300);
}

}  // namespace
}  // namespace det::api
