// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;

/**
 * The recordings of this process, as far as they concern what is asked for each request. The first
 * class of an event has the JVM load all of its recorder, which takes a young process longer than
 * the planning of a model: so there is none before somebody records.
 *
 * <p>An instance is a source of the devices' load, which each recording asks at intervals from
 * {@link #open} until it is closed. Thread-safe.
 */
public final class Recordings implements FlightRecorderListener, AutoCloseable {
  private final Runnable load;
  private boolean isOpen;
  private boolean isAsked;

  /** A source that nobody asks yet. */
  public Recordings(Runnable load) {
    this.load = load;
  }

  /** Returns whether somebody has recorded something in this process; else there are no events. */
  public static boolean arePossible() {
    return FlightRecorder.isInitialized();
  }

  /** Lets recordings ask from now on; a second call does nothing. */
  public void open() {
    synchronized (this) {
      if (isOpen) {
        return;
      }
      isOpen = true;
    }
    // Calls back at once where there is a recorder.
    FlightRecorder.addListener(this);
  }

  @Override
  public synchronized void recorderInitialized(FlightRecorder recorder) {
    if (isOpen && !isAsked) {
      LoadEvent.add(load);
      isAsked = true;
    }
  }

  /** Lets nobody ask any more. */
  @Override
  public void close() {
    FlightRecorder.removeListener(this);
    synchronized (this) {
      if (isAsked) {
        LoadEvent.remove(load);
      }
      isOpen = false;
      isAsked = false;
    }
  }
}
