// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import java.util.List;
import java.util.Map;

/**
 * What an injector has done and is about to do. Immutable.
 *
 * @param rules in force, or spent
 * @param executions that were asked for, struck or not
 * @param injected how often each kind struck: executions delayed, calls that stood still,
 *     executions crashed, answers falsified, calls refused, times lost
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
  public FaultStatus {
    rules = List.copyOf(rules);
    injected = Map.copyOf(injected);
  }

  /** How often a kind struck. */
  public long injected(Fault.Kind kind) {
    return injected.getOrDefault(kind, 0L);
  }
}
