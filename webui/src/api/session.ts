const key = "signedIn";

/**
 * Whether this browser has signed in and not out since: to show the sign-in page without asking the
 * master first. The session itself is a cookie that script cannot see, and may be over all the same.
 */
export const session = {
  isOpen: () => localStorage.getItem(key) !== null,
  begin: () => localStorage.setItem(key, "yes"),
  end: () => localStorage.removeItem(key),
};
