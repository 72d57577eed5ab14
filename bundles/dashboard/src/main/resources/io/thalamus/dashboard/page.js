// SPDX-License-Identifier: Apache-2.0
"use strict";

// The server makes each part as a whole, under the id of its place; this puts it there.
const places = document.querySelectorAll("#state, main section > div");
const link = document.getElementById("link");
const events = new EventSource("/dashboard/events");

function show(kind, text) {
  link.className = "badge " + kind;
  link.textContent = text;
}

for (const place of places) {
  events.addEventListener(place.id, (event) => {
    place.innerHTML = event.data;
  });
}
events.onopen = () => show("good", "live");
events.onerror = () => show("bad", "no connection");
