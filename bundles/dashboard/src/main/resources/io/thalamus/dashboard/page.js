// SPDX-License-Identifier: Apache-2.0
"use strict";

// The server makes each part as a whole; this puts it into its place.
const parts = ["state", "latency", "rate", "models", "devices", "executions"];
const link = document.getElementById("link");
const events = new EventSource("/dashboard/events");

function show(kind, text) {
  link.className = "badge " + kind;
  link.textContent = text;
}

for (const part of parts) {
  const place = document.getElementById(part);
  events.addEventListener(part, (event) => {
    place.innerHTML = event.data;
  });
}
events.onopen = () => show("good", "live");
events.onerror = () => show("bad", "no connection");
