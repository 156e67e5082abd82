#include "trial_api/cpp/torch/schedule.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace det::trial {
namespace {

using Unit = Length::Unit;

std::vector<int64_t> GetValidations(const Schedule& schedule) {
  std::vector<int64_t> steps;
  for (int64_t i = 0; i <= schedule.max_batches; ++i) {
    if (schedule.ValidationDue(i)) steps.push_back(i);
  }
  return steps;
}

TEST(ScheduleTest, ConvertsUnitsToBatches) {
  struct Case {
    Length length;
    int64_t batches;
  };
  for (const Case& c : {Case{{Unit::kBatches, 7}, 7}, Case{{Unit::kRecords, 70}, 8},
                        Case{{Unit::kRecords, 3}, 1}, Case{{Unit::kEpochs, 3}, 30}}) {
    const Schedule schedule = MakeSchedule({.max_length = c.length}, 8, 10);
    EXPECT_EQ(schedule.max_batches, c.batches) << c.length.count;
  }
}

TEST(ScheduleTest, ValidatesOnlyAtEnd_WhenNoPeriodIsSet) {
  const Schedule schedule = MakeSchedule({.max_length = Length{Unit::kBatches, 25}}, 8, 10);
  EXPECT_EQ(GetValidations(schedule), (std::vector<int64_t>{25}));
}

TEST(ScheduleTest, ValidatesAtRungsAndEnd_WhenNoPeriodIsSet) {
  const TrainingConfig config{.max_length = Length{Unit::kEpochs, 4}, .validate_at = {1}};
  EXPECT_EQ(GetValidations(MakeSchedule(config, 8, 10)), (std::vector<int64_t>{10, 40}));
}

TEST(ScheduleTest, UsesPeriodsAndInitialValidation) {
  TrainingConfig config;
  config.max_length = Length{Unit::kEpochs, 1};
  config.validation_period = {Unit::kBatches, 4};
  config.checkpoint_period = {Unit::kRecords, 24};
  config.reporting_period = 5;
  config.initial_validation = true;
  const Schedule schedule = MakeSchedule(config, 8, 10);
  EXPECT_EQ(GetValidations(schedule), (std::vector<int64_t>{0, 4, 8, 10}));
  std::string due;
  for (int64_t i = 0; i <= 10; ++i) {
    if (schedule.ReportDue(i)) due += "r" + std::to_string(i);
    if (schedule.CheckpointDue(i)) due += "c" + std::to_string(i);
  }
  EXPECT_EQ(due, "c3r4r5c6r8c9r10c10");
}

TEST(ScheduleTest, EpochIsOnePassOverData_WhateverRecordsPerEpochIs) {
  TrainingConfig config;
  config.max_length = Length{Unit::kEpochs, 2};
  config.records_per_epoch = 40;
  EXPECT_EQ(MakeSchedule(config, 8, 10).max_batches, 20);
}

TEST(ScheduleTest, RecognizesRecordsOfAnEpoch) {
  for (const int64_t records : {73, 80, 87}) EXPECT_TRUE(IsEpochOf(records, 8, 10)) << records;
  for (const int64_t records : {1, 72, 88}) EXPECT_FALSE(IsEpochOf(records, 8, 10)) << records;
}

TEST(ScheduleTest, ReachesRungsInUnitOfMaxLength) {
  struct Case {
    Length max_length;
    std::vector<int64_t> validate_at, rungs;
  };
  for (const Case& c :
       {Case{{Unit::kBatches, 40}, {3, 9}, {3, 9}}, Case{{Unit::kEpochs, 4}, {1, 2}, {10, 20}},
        Case{{Unit::kRecords, 320}, {25, 24, 1}, {1, 3, 4}}}) {
    TrainingConfig config{.max_length = c.max_length, .validate_at = c.validate_at};
    config.validation_period = {Unit::kBatches, 1000};
    const Schedule schedule = MakeSchedule(config, 8, 10);
    EXPECT_EQ(schedule.rungs, c.rungs);
    std::vector<int64_t> validations = c.rungs;
    validations.push_back(40);
    EXPECT_EQ(GetValidations(schedule), validations);
  }
}

TEST(ScheduleTest, RequiresMaxLength) { EXPECT_THROW(MakeSchedule({}, 8, 10), Error); }

}  // namespace
}  // namespace det::trial
