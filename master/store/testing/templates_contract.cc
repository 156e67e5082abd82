// Templates: a part of the contract suite in store_contract.h.
#include "gmock/gmock.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;

TEST_P(StoreContractTest, StoresTemplatesByName) {
  Templates& templates = store_->templates();
  EXPECT_TRUE(templates.ListTemplates()->empty());
  const TemplateRecord small{"small", "resources:\n  slots_per_trial: 1  # one\n"};
  const TemplateRecord large{"large", "resources: {slots_per_trial: 8}"};
  EXPECT_TRUE(templates.AddTemplate(small).ok());
  EXPECT_TRUE(templates.AddTemplate(small).ok()) << "a repeated request";
  EXPECT_TRUE(templates.AddTemplate(large).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(templates.AddTemplate({"small", "{}"})));
  EXPECT_THAT(*templates.ListTemplates(), ElementsAre(large, small));
  EXPECT_EQ(*backend_->Open()->templates().GetTemplate("small"), small);

  EXPECT_TRUE(templates.PutTemplate({"small", "{}"}, kUncategorized).ok());
  EXPECT_EQ(templates.GetTemplate("small")->yaml, "{}");
  EXPECT_TRUE(templates.DeleteTemplate("small", kUncategorized).ok());
  EXPECT_TRUE(absl::IsNotFound(templates.DeleteTemplate("small", kUncategorized)));
  EXPECT_TRUE(absl::IsNotFound(templates.GetTemplate("small").status()));
  EXPECT_THAT(*templates.ListTemplates(), ElementsAre(large));
}

TEST_P(StoreContractTest, KeepsTemplatesInWorkspaces) {
  Templates& templates = store_->templates();
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  const TemplateRecord small{"small", "{}", vision};
  ASSERT_TRUE(templates.AddTemplate(small).ok());
  EXPECT_EQ(*backend_->Open()->templates().GetTemplate("small"), small);
  EXPECT_TRUE(absl::IsAlreadyExists(templates.AddTemplate({"small", "{}"})))
      << "the same text in another workspace";
  EXPECT_TRUE(absl::IsNotFound(templates.RenameTemplate("small", kUncategorized, "tiny")))
      << "in a workspace for which the caller was not authorized";
  EXPECT_TRUE(absl::IsNotFound(templates.DeleteTemplate("small", kUncategorized)));
  EXPECT_EQ(templates.GetTemplate("small")->workspace, vision);
  ASSERT_TRUE(templates.RenameTemplate("small", vision, "tiny").ok());
  EXPECT_EQ(templates.GetTemplate("tiny")->workspace, vision);
  EXPECT_TRUE(absl::IsAlreadyExists(templates.PutTemplate({"tiny", "{}"}, kUncategorized)))
      << "in a workspace for which the caller was not authorized";
  EXPECT_EQ(templates.GetTemplate("tiny")->workspace, vision);
  ASSERT_TRUE(templates.PutTemplate({"tiny", "{}"}, vision).ok());
  EXPECT_EQ(templates.GetTemplate("tiny")->workspace, kUncategorized);
  ASSERT_TRUE(templates.PutTemplate({"tiny", "{a: 1}"}, vision).ok())
      << "moved to this workspace meanwhile";
  EXPECT_EQ(templates.GetTemplate("tiny")->yaml, "{a: 1}");
  EXPECT_TRUE(absl::IsNotFound(templates.PutTemplate({"tiny", "{}", 99}, kUncategorized)));
  ASSERT_TRUE(templates.ReplaceTemplate({"tiny", "{a: 2}"}).ok());
  EXPECT_EQ(templates.GetTemplate("tiny")->yaml, "{a: 2}");
  EXPECT_TRUE(absl::IsNotFound(templates.ReplaceTemplate({"tiny", "{}", vision})));
  EXPECT_TRUE(absl::IsNotFound(templates.ReplaceTemplate({"gone", "{}"})));
  EXPECT_TRUE(absl::IsNotFound(templates.GetTemplate("gone").status()))
      << "it is not created again";
  EXPECT_TRUE(absl::IsNotFound(templates.AddTemplate({"other", "{}", 99})));

  ASSERT_TRUE(templates.AddTemplate({"kept", "{}"}).ok());
  ASSERT_TRUE(templates.AddTemplate({"gone", "{}", vision}).ok());
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(vision, {.archived = true}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(templates.AddTemplate({"late", "{}", vision})));
  ASSERT_TRUE(store_->workspaces().DeleteWorkspace(vision).ok());
  EXPECT_TRUE(absl::IsNotFound(templates.GetTemplate("gone").status())) << "with its workspace";
  EXPECT_TRUE(templates.GetTemplate("kept").ok());
}

TEST_P(StoreContractTest, RenamesTemplates) {
  Templates& templates = store_->templates();
  ASSERT_TRUE(templates.AddTemplate({"small", "{}"}).ok());
  ASSERT_TRUE(templates.AddTemplate({"large", "{a: 1}"}).ok());
  const auto rename = [&](const char* name, const char* to) {
    return templates.RenameTemplate(name, kUncategorized, to);
  };
  EXPECT_TRUE(rename("small", "tiny").ok());
  EXPECT_TRUE(absl::IsNotFound(rename("small", "tiny")));
  EXPECT_TRUE(absl::IsNotFound(rename("small", "other")));
  EXPECT_TRUE(absl::IsAlreadyExists(rename("large", "tiny")));
  EXPECT_TRUE(rename("large", "large").ok());
  EXPECT_THAT(*backend_->Open()->templates().ListTemplates(),
              ElementsAre(TemplateRecord{"large", "{a: 1}"}, TemplateRecord{"tiny", "{}"}));
}

}  // namespace
}  // namespace det::store
