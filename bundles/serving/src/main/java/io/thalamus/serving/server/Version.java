// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ServingException;
import java.util.Optional;

/** A version of a model: what serves it now, and why what is new does not. Thread-safe. */
final class Version {
  private final String model;
  private final String number;
  private final Counters counters = new Counters();
  private final Announcer announcer;

  private LoadedVersion serving;
  private ModelState state = ModelState.LOADING;
  private String reason = "";
  private boolean wasReady;

  Version(String model, String number, Announcer announcer) {
    this.model = model;
    this.number = number;
    this.announcer = announcer;
  }

  String model() {
    return model;
  }

  String number() {
    return number;
  }

  Counters counters() {
    return counters;
  }

  ModelStatistics statistics() {
    return counters.statistics(model, number);
  }

  /** Returns whether it is ready or ever was. */
  synchronized boolean wasReady() {
    return wasReady;
  }

  synchronized boolean isReady() {
    return serving != null;
  }

  synchronized IndexEntry entry() {
    return new IndexEntry(model, number, state, reason, serving == null ? "" : serving.digest());
  }

  /** Returns what serves it, used by one more, or empty if nothing does. */
  synchronized Optional<LoadedVersion> acquire() {
    return serving != null && serving.acquire() ? Optional.of(serving) : Optional.empty();
  }

  synchronized ServingException unavailable() {
    String why = reason.isEmpty() ? "it is " + state : reason;
    return ServingException.soon(
        Failure.UNAVAILABLE, "model '" + model + "' version " + number + " is not ready: " + why);
  }

  /** Says that it loads, if nothing serves meanwhile. */
  void loading() {
    change(null, ModelState.LOADING, reason());
  }

  /** Lets another one serve from now on; what served before ends its requests and is closed. */
  void replace(LoadedVersion next) {
    LoadedVersion old;
    synchronized (this) {
      old = serving;
      serving = next;
      wasReady = true;
    }
    change(next, ModelState.READY, "");
    if (old != null) {
      old.release();
    }
  }

  /**
   * Says why what is new does not serve. A version that served before goes on.
   *
   * @return whether that is news
   */
  boolean failed(String why) {
    return change(null, ModelState.UNAVAILABLE, why);
  }

  /** Serves nothing from now on; requests that run are ended. */
  void retire(String why) {
    LoadedVersion old;
    synchronized (this) {
      old = serving;
      serving = null;
    }
    change(null, old == null ? ModelState.UNAVAILABLE : ModelState.UNLOADING, why);
    if (old != null) {
      old.onClosed(() -> ended(why));
      old.release();
    }
  }

  /** Makes a retired version unavailable, unless it loads again. */
  private void ended(String why) {
    boolean isRetired;
    synchronized (this) {
      isRetired = state == ModelState.UNLOADING;
    }
    if (isRetired) {
      change(null, ModelState.UNAVAILABLE, why);
    }
  }

  private synchronized String reason() {
    return reason;
  }

  private boolean change(LoadedVersion next, ModelState nextState, String why) {
    boolean isNews;
    synchronized (this) {
      ModelState now = serving != null ? ModelState.READY : nextState;
      isNews = next != null || now != state || !why.equals(reason);
      state = now;
      reason = why;
    }
    if (isNews) {
      announcer.changed(entry());
    }
    return isNews;
  }
}
