"""Workspaces, their projects, and the pools that they may use, of the SDK."""

from __future__ import annotations

import urllib.parse
from typing import Any

from det._errors import MasterError
from det.experimental._session import Session


class Project:
    """Experiments that belong together; what it is at the time of reload()."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.id = int(told["id"])
        self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        self.name = str(told.get("name") or "")
        self.description = str(told.get("description") or "")
        self.workspace_id = int(told.get("workspaceId") or 0)
        self.username = str(told.get("username") or "")
        self.archived = bool(told.get("archived"))
        self.n_experiments = int(told.get("numExperiments") or 0)
        self.n_active_experiments = int(told.get("numActiveExperiments") or 0)
        self.key = str(told.get("key") or "")
        self.notes: list[dict[str, str]] = [dict(note) for note in told.get("notes") or []]

    @property
    def _path(self) -> str:
        return f"/api/v1/projects/{self.id}"

    def reload(self) -> Project:
        self._take(self._session.get(self._path)["project"])
        return self

    def set_name(self, name: str) -> None:
        self._take(self._session.patch(self._path, {"name": name})["project"])

    def set_description(self, description: str) -> None:
        self._take(self._session.patch(self._path, {"description": description})["project"])

    def archive(self) -> None:
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """With its experiments. Refused while one of them runs."""
        self._session.delete(self._path)

    def move_to_workspace(self, workspace_id: int) -> None:
        body = {"destinationWorkspaceId": workspace_id}
        self._session.post(f"{self._path}/move", body)
        self.workspace_id = workspace_id

    def add_note(self, name: str, contents: str) -> None:
        told = self._session.post(f"{self._path}/notes", {"name": name, "contents": contents})
        self.notes = [dict(note) for note in told.get("notes") or []]

    def remove_note(self, name: str) -> None:
        """Raises ValueError where none, or more than one, has this name."""
        self.reload()
        left = [note for note in self.notes if note.get("name") != name]
        if len(left) != len(self.notes) - 1:
            found = len(self.notes) - len(left)
            raise ValueError(f"project {self.id} has {found} notes of the name {name!r}, not one")
        self._put_notes(left)

    def clear_notes(self) -> None:
        self._put_notes([])

    def _put_notes(self, notes: list[dict[str, str]]) -> None:
        told = self._session.put(f"{self._path}/notes", {"notes": notes})
        self.notes = [dict(note) for note in told.get("notes") or []]

    def __repr__(self) -> str:
        return f"Project(id={self.id}, name={self.name!r})"


class Workspace:
    """Who works together; what it is at the time of reload()."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.id = int(told["id"])
        self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        self.name = str(told.get("name") or "")
        self.archived = bool(told.get("archived"))
        self.username = str(told.get("username") or "")
        self.n_projects = int(told.get("numProjects") or 0)
        self.n_experiments = int(told.get("numExperiments") or 0)
        self.default_compute_pool: str | None = told.get("defaultComputePool") or None
        self.default_aux_pool: str | None = told.get("defaultAuxPool") or None

    @property
    def _path(self) -> str:
        return f"/api/v1/workspaces/{self.id}"

    def reload(self) -> Workspace:
        self._take(self._session.get(self._path)["workspace"])
        return self

    def set_name(self, name: str) -> None:
        self._patch({"name": name})

    def set_default_pools(self, default_compute_pool: str = "", default_aux_pool: str = "") -> None:
        """Where what names no pool runs; an empty name leaves one as it is."""
        named = {"defaultComputePool": default_compute_pool, "defaultAuxPool": default_aux_pool}
        self._patch({field: name for field, name in named.items() if name})

    def _patch(self, changes: dict[str, Any]) -> None:
        self._take(self._session.patch(self._path, changes)["workspace"])

    def archive(self) -> None:
        """With its projects: nothing can be submitted to them."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """With all that it holds. Refused while an experiment of it runs."""
        self._session.delete(self._path)

    def create_project(
        self, name: str, description: str | None = None, key: str | None = None
    ) -> Project:
        body = {"name": name, "description": description or "", "key": key or ""}
        told = self._session.post(f"{self._path}/projects", {**body, "workspaceId": self.id})
        return Project(self._session, told["project"])

    def list_projects(self) -> list[Project]:
        found = self._session.pages(f"{self._path}/projects", "projects")
        return [Project(self._session, told) for told in found]

    def get_project(self, project_name: str) -> Project:
        """Raises MasterError, of status 404, where there is none."""
        for project in self.list_projects():
            if project.name == project_name:
                return project
        words = f"there is no project {project_name!r} in workspace {self.name!r}"
        raise MasterError(words, 404)

    def delete_project(self, name: str) -> None:
        self.get_project(name).delete()

    def list_pools(self) -> list[ResourcePool]:
        """Those that its members may use."""
        found = self._session.pages(f"{self._path}/available-resource-pools", "resourcePools")
        return [ResourcePool(self._session, str(name)) for name in found]

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"


class ResourcePool:
    """A pool of slots, by its name, and the workspaces that it is for; for all, where none is bound."""

    def __init__(self, session: Session, name: str = "") -> None:
        self._session = session
        self.name = name

    @property
    def _path(self) -> str:
        quoted = urllib.parse.quote(self.name, safe="")
        return f"/api/v1/resource-pools/{quoted}/workspace-bindings"

    def add_bindings(self, workspace_names: list[str]) -> None:
        self._session.post(self._path, {"workspaceNames": workspace_names})

    def remove_bindings(self, workspace_names: list[str]) -> None:
        self._session.delete(self._path, {"workspaceNames": workspace_names})

    def replace_bindings(self, workspace_names: list[str]) -> None:
        self._session.put(self._path, {"workspaceNames": workspace_names})

    def list_workspaces(self) -> list[Workspace]:
        """Those that it is bound to."""
        found = self._session.pages(self._path, "workspaceIds")
        return [get_workspace(self._session, int(number)) for number in found]

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"


def list_workspaces(session: Session, **filters: Any) -> list[Workspace]:
    """filters: those of GetWorkspaces, such as archived=False."""
    found = session.pages("/api/v1/workspaces", "workspaces", **filters)
    return [Workspace(session, told) for told in found]


def get_workspace(session: Session, identifier: str | int) -> Workspace:
    """By name or number. Raises MasterError, of status 404, where there is none."""
    if isinstance(identifier, int):
        return Workspace(session, session.get(f"/api/v1/workspaces/{identifier}")["workspace"])
    found = list_workspaces(session, nameCaseSensitive=identifier)
    if not found:
        raise MasterError(f"there is no workspace {identifier!r}, or you may not see it", 404)
    return found[0]
