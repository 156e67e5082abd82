"""Workspaces, projects and resource pools of the SDK."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping

from det._errors import MasterError
from det._types import Json, JsonObject
from det.experimental._session import Session


class Project:
    """A project, as it was at the last reload()."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.id = int(data["id"])
        self._take(data)

    def _take(self, data: JsonObject) -> None:
        self.name = str(data.get("name") or "")
        self.description = str(data.get("description") or "")
        self.workspace_id = int(data.get("workspaceId") or 0)
        self.username = str(data.get("username") or "")
        self.archived = bool(data.get("archived"))
        self.n_experiments = int(data.get("numExperiments") or 0)
        self.n_active_experiments = int(data.get("numActiveExperiments") or 0)
        self.key = str(data.get("key") or "")
        self.notes: list[dict[str, str]] = [dict(note) for note in data.get("notes") or []]

    @property
    def _path(self) -> str:
        return f"/api/v1/projects/{self.id}"

    def reload(self) -> Project:
        """Asks the master again."""
        self._take(self._session.get(self._path)["project"])
        return self

    def set_name(self, name: str) -> None:
        """Sets the name.

        Args:
            name: The new name.
        """
        self._take(self._session.patch(self._path, {"name": name})["project"])

    def set_description(self, description: str) -> None:
        """Sets the description.

        Args:
            description: The new description.
        """
        self._take(self._session.patch(self._path, {"description": description})["project"])

    def archive(self) -> None:
        """Archives the project."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Restores an archived project."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Deletes the project with its notes, its experiments and their checkpoints.

        Raises:
            MasterError: An experiment has not ended, or a checkpoint is in use.
        """
        self._session.delete(self._path)

    def move_to_workspace(self, workspace_id: int) -> None:
        """Moves the project to another workspace.

        Args:
            workspace_id: The ID of the workspace.

        Raises:
            MasterError: The workspace does not exist, or the user may not change it.
        """
        body = {"destinationWorkspaceId": workspace_id}
        self._session.post(f"{self._path}/move", body)
        self.workspace_id = workspace_id

    def add_note(self, name: str, contents: str) -> None:
        """Adds a note.

        Args:
            name: The name of the note.
            contents: The text in Markdown.
        """
        data = self._session.post(f"{self._path}/notes", {"name": name, "contents": contents})
        self.notes = [dict(note) for note in data.get("notes") or []]

    def remove_note(self, name: str) -> None:
        """Removes a note.

        Args:
            name: The name of the note.

        Raises:
            ValueError: No note, or more than one, has this name.
        """
        self.reload()
        left = [note for note in self.notes if note.get("name") != name]
        if len(left) != len(self.notes) - 1:
            found = len(self.notes) - len(left)
            raise ValueError(
                f"project {self.id} has {found} notes with the name {name!r}; expected one"
            )
        self._put_notes(left)

    def clear_notes(self) -> None:
        """Removes all notes."""
        self._put_notes([])

    def _put_notes(self, notes: list[dict[str, str]]) -> None:
        data = self._session.put(f"{self._path}/notes", {"notes": notes})
        self.notes = [dict(note) for note in data.get("notes") or []]

    def __repr__(self) -> str:
        return f"Project(id={self.id}, name={self.name!r})"


class Workspace:
    """A workspace, as it was at the last reload()."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.id = int(data["id"])
        self._take(data)

    def _take(self, data: JsonObject) -> None:
        self.name = str(data.get("name") or "")
        self.archived = bool(data.get("archived"))
        self.username = str(data.get("username") or "")
        self.n_projects = int(data.get("numProjects") or 0)
        self.n_experiments = int(data.get("numExperiments") or 0)
        self.default_compute_pool: str | None = data.get("defaultComputePool") or None
        self.default_aux_pool: str | None = data.get("defaultAuxPool") or None

    @property
    def _path(self) -> str:
        return f"/api/v1/workspaces/{self.id}"

    def reload(self) -> Workspace:
        """Asks the master again."""
        self._take(self._session.get(self._path)["workspace"])
        return self

    def set_name(self, name: str) -> None:
        """Sets the name.

        Args:
            name: The new name.

        Raises:
            MasterError: The name is taken.
        """
        self._patch({"name": name})

    def set_default_pools(self, default_compute_pool: str = "", default_aux_pool: str = "") -> None:
        """Sets the pools for tasks whose configuration names none. An empty name changes nothing.

        Args:
            default_compute_pool: The resource pool for tasks with slots.
            default_aux_pool: The resource pool for tasks without slots.
        """
        named = {"defaultComputePool": default_compute_pool, "defaultAuxPool": default_aux_pool}
        self._patch({field: name for field, name in named.items() if name})

    def _patch(self, changes: Mapping[str, Json]) -> None:
        self._take(self._session.patch(self._path, changes)["workspace"])

    def archive(self) -> None:
        """Archives the workspace with its projects: nothing can be submitted to them."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Restores an archived workspace with its projects."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Deletes the workspace with its projects, their experiments and checkpoints.

        Raises:
            MasterError: The workspace contains models, an experiment has not ended, or a checkpoint
                is in use.
        """
        self._session.delete(self._path)

    def create_project(
        self, name: str, description: str | None = None, key: str | None = None
    ) -> Project:
        """Creates a project.

        Args:
            name: The name of the project.
            description: The description.
            key: A short name of the project.

        Returns:
            The project.

        Raises:
            MasterError: The name or the key is taken.
        """
        body = {"name": name, "description": description or "", "key": key or ""}
        data = self._session.post(f"{self._path}/projects", {**body, "workspaceId": self.id})
        return Project(self._session, data["project"])

    def list_projects(self) -> list[Project]:
        """Returns the projects."""
        found = self._session.pages(f"{self._path}/projects", "projects")
        return [Project(self._session, data) for data in found]

    def get_project(self, project_name: str) -> Project:
        """Returns a project by its name.

        Args:
            project_name: The name of the project.

        Returns:
            The project.

        Raises:
            MasterError: It does not exist (status 404).
        """
        for project in self.list_projects():
            if project.name == project_name:
                return project
        message = f"there is no project {project_name!r} in workspace {self.name!r}"
        raise MasterError(message, 404)

    def delete_project(self, name: str) -> None:
        """Deletes a project by its name. See Project.delete().

        Args:
            name: The name of the project.

        Raises:
            MasterError: It does not exist (status 404), or cannot be deleted.
        """
        self.get_project(name).delete()

    def list_pools(self) -> list[ResourcePool]:
        """Returns the resource pools that the members may use."""
        found = self._session.pages(f"{self._path}/available-resource-pools", "resourcePools")
        return [ResourcePool(self._session, str(name)) for name in found]

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"


class ResourcePool:
    """A resource pool. If it is bound to workspaces, only these may use it."""

    def __init__(self, session: Session, name: str = "") -> None:
        self._session = session
        self.name = name

    @property
    def _path(self) -> str:
        quoted = urllib.parse.quote(self.name, safe="")
        return f"/api/v1/resource-pools/{quoted}/workspace-bindings"

    def add_bindings(self, workspace_names: list[str]) -> None:
        """Binds the pool to workspaces.

        Args:
            workspace_names: The names of the workspaces.
        """
        self._session.post(self._path, {"workspaceNames": workspace_names})

    def remove_bindings(self, workspace_names: list[str]) -> None:
        """Removes bindings to workspaces.

        Args:
            workspace_names: The names of the workspaces.
        """
        self._session.delete(self._path, {"workspaceNames": workspace_names})

    def replace_bindings(self, workspace_names: list[str]) -> None:
        """Replaces all bindings.

        Args:
            workspace_names: The names of the workspaces; empty: every workspace may use the pool.
        """
        self._session.put(self._path, {"workspaceNames": workspace_names})

    def list_workspaces(self) -> list[Workspace]:
        """Returns the workspaces that the pool is bound to."""
        found = self._session.pages(self._path, "workspaceIds")
        return [get_workspace(self._session, int(number)) for number in found]

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"


def list_workspaces(session: Session, **filters: object) -> list[Workspace]:
    """Returns workspaces."""
    found = session.pages("/api/v1/workspaces", "workspaces", **filters)
    return [Workspace(session, data) for data in found]


def get_workspace(session: Session, identifier: str | int) -> Workspace:
    """Returns a workspace by its name or ID.

    Raises:
        MasterError: It does not exist (status 404).
    """
    if isinstance(identifier, int):
        return Workspace(session, session.get(f"/api/v1/workspaces/{identifier}")["workspace"])
    found = list_workspaces(session, nameCaseSensitive=identifier)
    if not found:
        raise MasterError(
            f"workspace {identifier!r} does not exist, or you have no permission to see it", 404
        )
    return found[0]
