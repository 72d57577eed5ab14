// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Rules that hold together: each counts for itself the executions that the device takes on, and one
 * execution may be struck by several. Immutable. Made of rules, or of a script: one rule on each
 * line, {@code #} begins a remark.
 *
 * <pre>
 * latency 20ms                      every execution takes 20 ms longer
 * rate 0.1 seed 3 latency 5 ms      one in ten, always the same ones
 * after 100 executions hang         the 101st stands still, and with it the device
 * every 1000 hang for 2 s           wakes up by itself
 * every 50 crash                    GENERAL_FAILURE; or: crash DEVICE_UNAVAILABLE
 * with seed 7 rate 0.01 wrong       one flipped bit in one of a hundred answers; wrong 8: eight
 * exhaust 5                         five calls find no room; exhaust alone: all, until a reset
 * lose for 500 ms                   the device goes at once and comes back
 * after 10 executions once crash    the 11th only
 * </pre>
 *
 * <p>Hang, exhaust and lose strike once unless {@code every} or {@code rate} is given; an exhaust
 * or lose without any condition does not wait for an execution.
 *
 * @param rules in the order in which they strike
 */
public record FaultPlan(List<FaultRule> rules) {
  public FaultPlan {
    rules = List.copyOf(rules);
  }

  public static FaultPlan of(FaultRule... rules) {
    return new FaultPlan(List.of(rules));
  }

  /**
   * Reads a script.
   *
   * @throws FaultScriptException where a line is no rule
   */
  public static FaultPlan parse(String script) throws FaultScriptException {
    List<FaultRule> rules = new ArrayList<>();
    int number = 0;
    for (String line : script.lines().toList()) {
      number++;
      String text = line.replaceFirst("#.*", "").strip();
      if (!text.isEmpty()) {
        try {
          rules.add(rule(List.of(text.split("\\s+"))));
        } catch (FaultScriptException e) {
          throw new FaultScriptException("line " + number + ": " + e.getMessage());
        }
      }
    }
    return new FaultPlan(rules);
  }

  /**
   * Reads the words of one rule.
   *
   * @throws FaultScriptException where they are none
   */
  public static FaultRule rule(List<String> words) throws FaultScriptException {
    return new FaultRuleParser(words).parse();
  }

  @Override
  public String toString() {
    return rules.stream().map(FaultRule::toString).collect(Collectors.joining("\n"));
  }
}
