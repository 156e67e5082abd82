// Before the first paint, so that no light page flashes up for who has chosen dark.
const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
