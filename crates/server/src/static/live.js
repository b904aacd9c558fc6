// Replaces the live part of a page by what the server sends. Without it the page loads itself again.
"use strict";
(() => {
  const main = document.getElementById("main");
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  if (!main.dataset.live || !live || !window.EventSource) return;
  let state = "";
  const source = new EventSource(main.dataset.live);
  source.onmessage = (message) => {
    const news = JSON.parse(message.data);
    // Whoever has the keyboard in a part, or marks text in it, keeps it as it is for now.
    const marked = document.getSelection();
    const busy = live.contains(document.activeElement) ||
      (marked && !marked.isCollapsed && live.contains(marked.anchorNode));
    if (!busy) live.innerHTML = news.html;
    document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates || 0) + 1;
    if (news.state !== state) {
      if (state) said.textContent = "Now " + news.state;
      state = news.state;
    }
  };
  source.onerror = () => { said.textContent = "The server does not answer; trying again."; state = ""; };
  source.onopen = () => { said.textContent = ""; };
})();
