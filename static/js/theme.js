// Runs before the first paint, so that the page never flashes in the other theme or with the wrong navigation.
(function () {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("muster-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("muster-nav") === "folded") root.dataset.nav = "folded";
  } catch {
    // Storage may be refused; the system's theme holds then.
  }
})();
