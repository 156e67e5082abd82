/** What pages about roles and groups say if ownership decides instead of roles. */
export function NoRoles() {
  return (
    <p>
      Groups and roles have no effect in this cluster, where ownership decides who may change what (
      <code>security.authz.type: basic</code>).
    </p>
  );
}
