"""Users of the SDK."""

from __future__ import annotations

import urllib.parse

from det._types import Json, JsonObject
from det.experimental._session import Session


class User:
    """A user, as they were at the last reload().

    Users who are not administrators can change their own display name and password only.
    """

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.user_id = int(data["id"])
        self._take(data)

    def _take(self, data: JsonObject) -> None:
        self.username = str(data.get("username") or "")
        self.admin = bool(data.get("admin"))
        self.active = bool(data.get("active"))
        self.remote = bool(data.get("remote"))
        self.display_name = str(data.get("displayName") or "")
        agent: JsonObject = data.get("agentUserGroup") or {}
        self.agent_uid: int | None = agent.get("agentUid")
        self.agent_gid: int | None = agent.get("agentGid")
        self.agent_user: str | None = agent.get("agentUser")
        self.agent_group: str | None = agent.get("agentGroup")

    def reload(self) -> User:
        """Asks the master again."""
        self._take(self._session.get(f"/api/v1/users/{self.user_id}")["user"])
        return self

    def rename(self, new_username: str) -> None:
        """Changes the name.

        Args:
            new_username: The new name.

        Raises:
            MasterError: The name is taken.
        """
        self._patch(username=new_username)

    def activate(self) -> None:
        """Activates the user."""
        self._patch(active=True)

    def deactivate(self) -> None:
        """Deactivates the user and revokes their sessions."""
        self._patch(active=False)

    def change_display_name(self, display_name: str) -> None:
        """Changes the display name.

        Args:
            display_name: The new display name.
        """
        self._patch(displayName=display_name)

    def change_password(self, new_password: str) -> None:
        """Changes the password.

        Args:
            new_password: The new password.

        Raises:
            MasterError: The master refused the password.
        """
        self._patch(password=new_password)

    def link_with_agent(
        self,
        agent_gid: int | None = None,
        agent_uid: int | None = None,
        agent_group: str | None = None,
        agent_user: str | None = None,
    ) -> None:
        """Sets the Unix user and group that run the tasks of the user on agents.

        The master requires all four.

        Args:
            agent_gid: The ID of the Unix group.
            agent_uid: The ID of the Unix user.
            agent_group: The name of the Unix group.
            agent_user: The name of the Unix user.
        """
        data = {
            "agentGid": agent_gid,
            "agentUid": agent_uid,
            "agentGroup": agent_group,
            "agentUser": agent_user,
        }
        given = {name: value for name, value in data.items() if value is not None}
        self._patch(agentUserGroup=given)

    def _patch(self, **changes: Json) -> None:
        self._take(self._session.patch(f"/api/v1/users/{self.user_id}", changes)["user"])

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"


def create_user(
    session: Session, username: str, admin: bool, password: str | None, remote: bool
) -> User:
    """Creates a user."""
    user: dict[str, Json] = {"username": username, "admin": admin, "active": True, "remote": remote}
    body: dict[str, Json] = {"user": user}
    if password is not None:
        body["password"] = password
    return User(session, session.post("/api/v1/users", body)["user"])


def get_user(session: Session, user_id: int) -> User:
    """Returns a user by their ID."""
    return User(session, session.get(f"/api/v1/users/{user_id}")["user"])


def get_user_by_name(session: Session, username: str) -> User:
    """Returns a user by their name."""
    quoted = urllib.parse.quote(username, safe="")
    return User(session, session.get(f"/api/v1/users/{quoted}/by-username")["user"])


def list_users(session: Session, active: bool | None) -> list[User]:
    """Returns users."""
    found = session.pages("/api/v1/users", "users", active=active)
    return [User(session, data) for data in found]


def whoami(session: Session) -> User:
    """Returns the user of the session."""
    return User(session, session.get("/api/v1/me")["user"])
