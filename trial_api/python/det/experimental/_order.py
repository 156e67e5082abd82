"""How lists are sorted: the values of the API, under the names that existing programs use."""

from __future__ import annotations

import enum
from collections.abc import Collection


class OrderBy(enum.Enum):
    """The direction of a sort."""

    ASC = "ORDER_BY_ASC"
    ASCENDING = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"
    DESCENDING = "ORDER_BY_DESC"


class ExperimentSortBy(enum.Enum):
    """The sort keys of experiments."""

    ID = "SORT_BY_ID"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"


class TrialSortBy(enum.Enum):
    """The sort keys of trials."""

    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"


class CheckpointSortBy(enum.Enum):
    """The sort keys of checkpoints."""

    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


class ModelSortBy(enum.Enum):
    """The sort keys of models."""

    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


ExperimentOrderBy = TrialOrderBy = CheckpointOrderBy = ModelOrderBy = OrderBy


def in_order(labels: Collection[str]) -> list[str]:
    """Returns labels as a list; those of a set in alphabetical order.

    Raises:
        TypeError: It is a string.
    """
    if isinstance(labels, str):
        raise TypeError(f"labels is {labels!r}; expected a list or a set of strings")
    return list(labels) if isinstance(labels, (list, tuple)) else sorted(labels)


def make_checkpoint_query(
    sort_by: CheckpointSortBy | str | None, order_by: OrderBy | None
) -> dict[str, object]:
    """Returns the query of a list of checkpoints.

    Args:
        sort_by: A CheckpointSortBy, or the name of a validation metric.
        order_by: An OrderBy.

    Raises:
        TypeError: sort_by has another type.
    """
    if not isinstance(sort_by, (str, CheckpointSortBy, type(None))):
        raise TypeError(
            f"sort_by is {sort_by!r}; expected a CheckpointSortBy or the name of a metric"
        )
    by = "sortByMetric" if isinstance(sort_by, str) else "sortByAttr"
    return {by: sort_by, "orderBy": order_by}
