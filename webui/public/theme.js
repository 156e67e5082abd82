// Runs before the first paint, so that no light page flashes in the dark theme.
const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
