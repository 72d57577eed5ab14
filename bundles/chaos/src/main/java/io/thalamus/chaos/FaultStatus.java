// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.util.List;
import java.util.Map;

/**
 * The rules and counts of an injector, and the condition of its device. Immutable.
 *
 * @param rules in force, or spent
 * @param executions that were asked for, with a fault or not
 * @param injected how often each kind was injected: executions delayed, calls that stood still,
 *     executions crashed, answers changed, calls refused, times lost
 * @param hung whether the device stands still now
 * @param hungCalls that stand still now
 * @param refusals that are still to come before there is room again
 * @param exhausted whether there is no room until a reset
 * @param lost whether the device is away
 */
public record FaultStatus(
    List<FaultRule> rules,
    long executions,
    Map<Fault.Kind, Long> injected,
    boolean hung,
    int hungCalls,
    int refusals,
    boolean exhausted,
    boolean lost) {
  /** The status of a device without an injector. */
  public static final FaultStatus NONE =
      new FaultStatus(List.of(), 0, Map.of(), false, 0, 0, false, false);

  public FaultStatus {
    rules = List.copyOf(rules);
    injected = Map.copyOf(injected);
  }

  /** Returns how often a kind was injected. */
  public long injected(Fault.Kind kind) {
    return injected.getOrDefault(kind, 0L);
  }
}
