#include "master/store/postgres/search_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

// As the fake's ShownState.
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

const char* SearchFields::SqlOf(Join join) const {
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
      return runs_ ? " CROSS JOIN LATERAL (SELECT count(*) AS number, coalesce(sum(c.size), 0) AS "
                     "size FROM checkpoints c WHERE c.trial = t.id AND c.state <> 'DELETED') k"
                   : " CROSS JOIN LATERAL (SELECT count(*) AS number, coalesce(sum(c.size), 0) AS "
                     "size FROM trials f JOIN checkpoints c ON c.trial = f.id "
                     "WHERE f.experiment = e.id AND c.state <> 'DELETED') k";
    case kNumJoins:
      break;
  }
  return "";
}

std::string SearchFields::Joins() const {
  std::string joins;
  for (int i = 0; i < kNumJoins; ++i) {
    if (needed_[i]) joins += SqlOf(static_cast<Join>(i));
  }
  return joins;
}

void SearchFields::Need(Join join) {
  if (driven_) needed_[kTrial] = true;
  // All others say something of the experiment.
  if (join != kTrial && (join != kCheckpoints || !runs_)) needed_[kExperiment] = true;
  needed_[join] = true;
}

const char* SearchFields::Run() {
  if (runs_) return driven_ ? "d.trial" : "t.id";
  Need(kRun);
  return "r.id";
}

const char* SearchFields::Of(Join join, const char* sql) {
  Need(join);
  return sql;
}

std::string SearchFields::Own(const char* column) const {
  return absl::StrCat(runs_ ? "t." : "e.", column);
}

std::string SearchFields::Expression(Field field) {
  if (runs_ && field == Field::kRunId) return Run();
  if (driven_) Need(kTrial);
  switch (field) {
    case Field::kLocalId:
      return Of(kProject, "((p.key || '-' || t.id) COLLATE \"C\")");
    case Field::kExperimentId:
      return runs_ ? "t.experiment" : "e.id";
    case Field::kStartTime:
      return Own("created_at");
    case Field::kEndTime:
      return Own("ended_at");
    case Field::kDuration:
      return absl::StrCat("extract(epoch FROM coalesce(CASE WHEN isfinite(", Own("ended_at"),
                          ") THEN ", Own("ended_at"), " END, now()) - ", Own("created_at"),
                          ")::double precision");
    case Field::kState:
      return Own("state");
    case Field::kShownState:
      return kShownStateSql;
    case Field::kSearcherMetricValue:
      return Own("best_metric");
    case Field::kCheckpointSize:
      return Of(kCheckpoints, "k.size");
    case Field::kCheckpointCount:
      return Of(kCheckpoints, "k.number");
    case Field::kProjectId:
      return Own("project");
    default:
      return OfExperiment(field);
  }
}

const char* SearchFields::OfExperiment(Field field) {
  switch (field) {
    case Field::kName:
      return Of(kExperiment, "e.name");
    case Field::kDescription:
      return Of(kExperiment, "(e.description COLLATE \"C\")");
    case Field::kTags:
      return Of(kExperiment, "e.labels");
    case Field::kForkedFrom:
      return Of(kExperiment, "e.forked_from");
    case Field::kNumTrials:
      return Of(kTrials, "n.trials");
    case Field::kSearcherType:
      return Of(kExperiment, "(e.searcher_name COLLATE \"C\")");
    case Field::kSearcherMetric:
      return Of(kExperiment, RankingMetric());
    case Field::kResourcePool:
      return Of(kExperiment, "(e.resource_pool COLLATE \"C\")");
    case Field::kProgress:
      return Of(kExperiment, "e.progress");
    case Field::kUser:
      return Of(kUser, "coalesce(u.username, '')");
    case Field::kArchived:
      return Of(kExperiment, "e.archived");
    case Field::kParentArchived:
      return Of(kProject, "coalesce(p.archived OR w.archived, false)");
    case Field::kIsMultitrial:
      return Of(kExperiment, "(e.searcher_name <> 'single')");
    default:
      return "NULL::text";
  }
}

}  // namespace det::store
