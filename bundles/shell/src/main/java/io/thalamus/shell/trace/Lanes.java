// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The lanes of a trace: one for each device and each compilation, and more of them where several
 * bars overlap. Two bars of a device are apart; of two bars of a compilation, one may also lie
 * within the other. Immutable.
 */
public final class Lanes {
  private final List<Lane> lanes = new ArrayList<>();
  private final Map<TraceEvent, Lane> places = new IdentityHashMap<>();

  /**
   * A lane with its bars by their start.
   *
   * @param row the place among those of the same name, from 0
   */
  public record Lane(boolean isDevice, String name, int row, List<TraceEvent> bars) {
    /** Returns the name, with a number if there are several rows. */
    public String label() {
      return row == 0 ? name : name + " (" + (row + 1) + ")";
    }
  }

  /** Lays out the events that take time; devices come first. */
  public Lanes(List<TraceEvent> events) {
    Map<String, List<Lane>> devices = new TreeMap<>();
    Map<String, List<Lane>> compilations = new LinkedHashMap<>();
    Map<Lane, Deque<TraceEvent>> open = new IdentityHashMap<>();
    events.stream()
        .filter(TraceEvent::isSpan)
        .sorted(
            Comparator.comparingLong(TraceEvent::start)
                .thenComparing(Comparator.comparingLong(TraceEvent::nanos).reversed()))
        .forEach(
            event -> {
              List<Lane> rows =
                  (event.isOnDevice() ? devices : compilations)
                      .computeIfAbsent(event.lane(), name -> new ArrayList<>());
              Lane lane =
                  rows.stream()
                      .filter(row -> fits(open.get(row), event))
                      .findFirst()
                      .orElseGet(() -> added(rows, open, event));
              open.get(lane).push(event);
              lane.bars().add(event);
              places.put(event, lane);
            });
    devices.values().forEach(lanes::addAll);
    compilations.values().forEach(lanes::addAll);
  }

  private static Lane added(List<Lane> rows, Map<Lane, Deque<TraceEvent>> open, TraceEvent event) {
    Lane lane = new Lane(event.isOnDevice(), event.lane(), rows.size(), new ArrayList<>());
    rows.add(lane);
    open.put(lane, new ArrayDeque<>());
    return lane;
  }

  /** Returns whether a bar lies behind all that are open in a row, or within its own execution. */
  private static boolean fits(Deque<TraceEvent> open, TraceEvent event) {
    while (!open.isEmpty() && open.peek().end() <= event.start()) {
      open.pop();
    }
    return open.isEmpty() || !event.isOnDevice() && event.end() <= open.peek().end();
  }

  /** Returns all lanes: devices by name, then compilations as they began. */
  public List<Lane> all() {
    return lanes;
  }

  /** Returns the lane of an event that takes time. */
  public Lane of(TraceEvent event) {
    return places.get(event);
  }
}
