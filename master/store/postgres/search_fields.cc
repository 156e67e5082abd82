#include "master/store/postgres/search_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

// Must be equivalent to ShownState in the fake.
constexpr char kShownStateSql[] =
    "CASE WHEN e.state <> 'ACTIVE' THEN e.state "
    "WHEN EXISTS (SELECT FROM trials f WHERE f.experiment = e.id "
    "AND f.state IN ('RUNNING', 'STOPPING')) THEN 'RUNNING' "
    "WHEN EXISTS (SELECT FROM trials f WHERE f.experiment = e.id AND f.state = 'QUEUED') "
    "THEN 'QUEUED' ELSE e.state END";

const char* RankingMetric() {
  static const auto& sql = *new std::string(absl::StrCat("(", kRankingMetric, " COLLATE \"C\")"));
  return sql.c_str();
}

}  // namespace

const char* SearchFields::GetJoinSql(Join join) const {
  switch (join) {
    case kTrial:
      return " JOIN trials t ON t.id = d.trial";
    case kExperiment:
      return runs_ ? " JOIN experiments e ON e.id = t.experiment" : "";
    case kUser:
      return " LEFT JOIN users u ON u.id = e.owner";
    case kProject:
      return " LEFT JOIN projects p ON p.id = e.project "
             "LEFT JOIN workspaces w ON w.id = p.workspace";
    case kRun:
      return runs_ ? ""
                   : " CROSS JOIN LATERAL (SELECT coalesce(e.best_trial, "
                     "(SELECT min(f.id) FROM trials f WHERE f.experiment = e.id)) AS id) r";
    case kTrials:
      return " CROSS JOIN LATERAL (SELECT count(*) AS trials FROM trials f "
             "WHERE f.experiment = e.id) n";
    case kCheckpoints:
      return runs_ ? " CROSS JOIN LATERAL (SELECT count(*) AS number, "
                     "least(coalesce(sum(c.size), 0), 9223372036854775807) AS size FROM "
                     "checkpoints c WHERE c.trial = t.id AND c.state <> 'DELETED') k"
                   : " CROSS JOIN LATERAL (SELECT count(*) AS number, "
                     "least(coalesce(sum(c.size), 0), 9223372036854775807) AS size FROM trials f "
                     "JOIN checkpoints c ON c.trial = f.id "
                     "WHERE f.experiment = e.id AND c.state <> 'DELETED') k";
    case kNumJoins:
      break;
  }
  return "";
}

std::string SearchFields::BuildJoins() const {
  std::string joins;
  for (int i = 0; i < kNumJoins; ++i) {
    if (needed_[i]) joins += GetJoinSql(static_cast<Join>(i));
  }
  return joins;
}

void SearchFields::RequireJoin(Join join) {
  if (driven_) needed_[kTrial] = true;
  // All others are fields of the experiment.
  if (join != kTrial && (join != kCheckpoints || !runs_)) needed_[kExperiment] = true;
  needed_[join] = true;
}

const char* SearchFields::GetRunId() {
  if (runs_) return driven_ ? "d.trial" : "t.id";
  RequireJoin(kRun);
  return "r.id";
}

const char* SearchFields::Qualify(Join join, const char* sql) {
  RequireJoin(join);
  return sql;
}

std::string SearchFields::QualifyOwn(const char* column) const {
  return absl::StrCat(runs_ ? "t." : "e.", column);
}

std::string SearchFields::GetExpression(Field field) {
  if (runs_ && field == Field::kRunId) return GetRunId();
  if (driven_) RequireJoin(kTrial);
  switch (field) {
    case Field::kLocalId:
      return Qualify(kProject, "((p.key || '-' || t.id) COLLATE \"C\")");
    case Field::kExperimentId:
      return runs_ ? "t.experiment" : "e.id";
    case Field::kStartTime:
      return QualifyOwn("created_at");
    case Field::kEndTime:
      return QualifyOwn("ended_at");
    case Field::kDuration:
      return absl::StrCat("extract(epoch FROM coalesce(CASE WHEN isfinite(", QualifyOwn("ended_at"),
                          ") THEN ", QualifyOwn("ended_at"), " END, now()) - ",
                          QualifyOwn("created_at"), ")::double precision");
    case Field::kState:
      return QualifyOwn("state");
    case Field::kShownState:
      return kShownStateSql;
    case Field::kSearcherMetricValue:
      return QualifyOwn("best_metric");
    case Field::kCheckpointSize:
      return Qualify(kCheckpoints, "k.size");
    case Field::kCheckpointCount:
      return Qualify(kCheckpoints, "k.number");
    case Field::kExternalId:
      return runs_ ? "t.external_id" : "NULL::text";
    case Field::kLogPolicy:
      return runs_ ? "nullif(t.log_policy, '')" : "NULL::text";
    case Field::kProjectId:
      return QualifyOwn("project");
    default:
      return GetExperimentExpression(field);
  }
}

const char* SearchFields::GetExperimentExpression(Field field) {
  switch (field) {
    case Field::kName:
      return Qualify(kExperiment, "e.name");
    case Field::kDescription:
      return Qualify(kExperiment, "(e.description COLLATE \"C\")");
    case Field::kTags:
      return Qualify(kExperiment, "e.labels");
    case Field::kForkedFrom:
      return Qualify(kExperiment, "e.forked_from");
    case Field::kExternalExperimentId:
      return Qualify(kExperiment, "e.external_id");
    case Field::kNumTrials:
      return Qualify(kTrials, "n.trials");
    case Field::kSearcherType:
      return Qualify(kExperiment, "(e.searcher_name COLLATE \"C\")");
    case Field::kSearcherMetric:
      return Qualify(kExperiment, RankingMetric());
    case Field::kResourcePool:
      return Qualify(kExperiment, "(e.resource_pool COLLATE \"C\")");
    case Field::kProgress:
      return Qualify(kExperiment, "e.progress");
    case Field::kUser:
      return Qualify(kUser, "coalesce(u.username, '')");
    case Field::kUserId:
      return Qualify(kExperiment, "e.owner");
    case Field::kArchived:
      return Qualify(kExperiment, "e.archived");
    case Field::kParentArchived:
      return Qualify(kProject, "coalesce(p.archived OR w.archived, false)");
    case Field::kIsMultitrial:
      return Qualify(kExperiment, "(e.searcher_name <> 'single')");
    default:
      return "NULL::text";
  }
}

}  // namespace det::store
