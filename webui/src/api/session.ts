const key = "signedIn";

/**
 * Remembers whether this browser is signed in, so that the sign-in page appears without a request. The
 * session itself is a cookie that scripts cannot read; it may have expired.
 */
export const session = {
  isOpen: () => localStorage.getItem(key) !== null,
  begin: () => localStorage.setItem(key, "yes"),
  end: () => localStorage.removeItem(key),
};
