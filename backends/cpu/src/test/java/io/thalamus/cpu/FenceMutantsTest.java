// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.FaultyFenceDevice.Way;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.fence.FenceSuite;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * The kit's checks of fences find drivers that break one rule each, and blame none that breaks
 * none.
 */
@Order(3)
class FenceMutantsTest {
  /** For drivers that never end; legal ones never come near it. */
  private static final Duration SHORT = Duration.ofMillis(300);

  private static final Duration LONG = Duration.ofMinutes(1);

  private static final List<Example> EXAMPLES =
      GraphGenerator.over(new CpuDevice("1.0.0")).singles(1, 1).stream()
          .filter(example -> example.name().equals("mul_tensor_float32_40"))
          .toList();

  private static final String NEVER = "a fence that never signals, ";
  private static final Set<String> WAITS =
      Set.of(
          "a late fence",
          "a fence fails late",
          NEVER + "with a deadline",
          NEVER + "cancelled",
          "its fence waits, and there is no result",
          "times unasked");
  private static final Set<String> CHAINS = Set.of("a chain", "a chain whose first fence fails");

  /** The checks that find each driver. */
  private static final Map<Way, Set<String>> TABLE = new EnumMap<>(Way.class);

  static {
    for (Way way : Way.values()) {
      TABLE.put(way, Set.of());
    }
    TABLE.put(
        Way.DOES_NOT_WAIT,
        all(
            WAITS,
            CHAINS,
            Set.of(
                "times",
                "a fence has failed",
                "one of several has failed",
                "each of several is late")));
    Set<String> one = Set.of("each of several is late", "one of several has failed");
    TABLE.put(Way.WAITS_FOR_THE_FIRST_FENCE, one);
    TABLE.put(Way.WAITS_FOR_THE_LAST_FENCE, one);
    Set<String> failures =
        Set.of(
            "a fence has failed",
            "a fence fails late",
            "one of several has failed",
            "a chain whose first fence fails");
    TABLE.put(Way.COMPUTES_THOUGH_A_FENCE_FAILED, failures);
    Set<String> ends = all(failures, Set.of(NEVER + "with a deadline", NEVER + "cancelled"));
    TABLE.put(Way.BLAMES_THE_REQUEST_FOR_A_FENCE, ends);
    TABLE.put(Way.IGNORES_THE_DEADLINE_BEHIND_A_FENCE, Set.of(NEVER + "with a deadline"));
    TABLE.put(Way.READS_ITS_OWN_CLOCK_BEHIND_A_FENCE, Set.of(NEVER + "with a deadline"));
    TABLE.put(Way.IGNORES_A_CANCELLATION_BEHIND_A_FENCE, Set.of(NEVER + "cancelled"));
    Set<String> signals = Set.of("its fence signals once, after the outputs");
    TABLE.put(
        Way.NEVER_SIGNALS,
        all(
            signals,
            ends,
            Set.of(
                "no fence",
                "a late fence",
                "each of several is late",
                "its fence waits, and there is no result",
                "times",
                "times unasked",
                "a chain")));
    TABLE.get(Way.NEVER_SIGNALS).remove("a chain whose first fence fails");
    TABLE.put(Way.SIGNALS_BEFORE_THE_OUTPUTS, signals);
    TABLE.put(Way.WRITES_ONCE_MORE, signals);
    TABLE.put(Way.SIGNALS_THOUGH_IT_FAILED, ends);
    TABLE.put(Way.HAS_A_RESULT_TOO_EARLY, Set.of("its fence waits, and there is no result"));
    TABLE.put(Way.CHANGES_ITS_RESULT, signals);
    TABLE.put(Way.COUNTS_THE_WAIT_FROM_THE_FENCE_ON, Set.of("times"));
    TABLE.put(Way.EXCHANGES_ITS_TIMES, Set.of("times"));
    TABLE.put(Way.MEASURES_UNASKED, Set.of("times unasked"));
    TABLE.put(Way.HOLDS_A_LOCK_WHILE_IT_WAITS, CHAINS);
    TABLE.put(Way.BREAKS_A_MODEL_AFTER_A_FENCE_FAILED, without(ends, CHAINS));
  }

  @SafeVarargs
  private static Set<String> all(Set<String>... parts) {
    Set<String> all = new TreeSet<>();
    for (Set<String> part : parts) {
      all.addAll(part);
    }
    return all;
  }

  private static Set<String> without(Set<String> all, Set<String> some) {
    Set<String> rest = new TreeSet<>(all);
    rest.removeAll(some);
    return rest;
  }

  /** More checks may see a write at a wrong time: that depends on timing. */
  private static boolean isAsExpected(Way way, Set<String> failed) {
    return way == Way.SIGNALS_BEFORE_THE_OUTPUTS || way == Way.WRITES_ONCE_MORE
        ? failed.containsAll(TABLE.get(way))
        : failed.equals(TABLE.get(way));
  }

  private static Set<String> failed(Way way, Set<String> names, List<String> reasons)
      throws Exception {
    Set<String> failed = new TreeSet<>();
    try (FaultyFenceDevice device = new FaultyFenceDevice(way)) {
      FenceSuite suite = new FenceSuite(device, EXAMPLES, way.isLegal() ? LONG : SHORT);
      for (Check check : suite.checks()) {
        names.add(check.name());
        if (check.run() instanceof Outcome.Failed failure) {
          failed.add(check.name());
          reasons.add(check.name() + ": " + failure.reason());
        }
      }
    }
    return failed;
  }

  @Test
  void everyDriverIsFoundByItsChecksAndEveryCheckFindsADriver() throws Exception {
    List<String> differences = new ArrayList<>();
    Set<String> checks = new TreeSet<>();
    Set<String> useful = new TreeSet<>();
    for (Way way : Way.values()) {
      List<String> reasons = new ArrayList<>();
      Set<String> failed = failed(way, checks, reasons);
      if (!isAsExpected(way, failed)) {
        differences.add(way + " is found by " + reasons + ", not by " + TABLE.get(way) + "\n");
      }
      useful.addAll(failed);
    }
    assertEquals(List.of(), differences);
    assertEquals(checks, useful, "each check fails");
    assertEquals(6, Arrays.stream(Way.values()).filter(Way::isLegal).count());
  }
}
