// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.FaultyDeadlineDevice.Fault;
import io.thalamus.model.Priority;
import io.thalamus.tck.deadline.DeadlineSuite;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The kit's checks of deadlines find drivers that break one rule each. */
class DeadlineMutantsTest {
  private static final Set<String> KINDS =
      Set.of("mul_tensor_float32_40", "add_tensor_quant8_asymm_40", "split_tensor_float32_40");

  private static final List<Example> EXAMPLES =
      GraphGenerator.over(new CpuDevice("1.0.0")).singles(1, 1).stream()
          .filter(example -> KINDS.contains(example.name()))
          .toList();

  /** The checks that find each driver, without priorities. */
  private static final Map<Fault, Set<String>> TABLE = new EnumMap<>(Fault.class);

  private static final List<String> PLAIN = List.of("prepare", "restore", "execute", "fenced");
  private static final List<String> WAYS =
      List.of("prepare", "restore", "execute", "fenced", "burst");

  private static final List<String> EXECUTIONS = List.of("execute", "fenced", "burst");
  private static final String[] PASTS = {"past", "past by the kit's clock"};

  private static final Set<String> FENCED =
      Set.of(
          "fenced overtaken behind a fence",
          "fenced for no time",
          "fenced for a time from the fence on",
          "fenced for a time that ends at a checkpoint");

  static {
    TABLE.put(Fault.NONE, Set.of());
    TABLE.put(Fault.IGNORES_DEADLINES_OF_PREPARES, ignored("prepare"));
    TABLE.put(Fault.IGNORES_DEADLINES_OF_RESTORES, ignored("restore"));
    TABLE.put(Fault.IGNORES_DEADLINES_OF_EXECUTIONS, ignored("execute"));
    TABLE.put(
        Fault.IGNORES_DEADLINES_OF_FENCED_ONES,
        all(
            ignored("fenced"),
            Set.of(
                "fenced overtaken behind a fence",
                "fenced for no time",
                "fenced for a time that ends at a checkpoint")));
    TABLE.put(Fault.IGNORES_DEADLINES_IN_BURSTS, each(List.of("burst"), PASTS));
    TABLE.put(
        Fault.IGNORES_DURATIONS,
        Set.of("fenced for no time", "fenced for a time that ends at a checkpoint"));
    TABLE.put(
        Fault.COUNTS_DURATIONS_FROM_THE_LAUNCH, Set.of("fenced for a time from the fence on"));
    TABLE.put(
        Fault.LOOKS_BEFORE_ITS_FENCES_ONLY,
        Set.of("fenced overtaken behind a fence", "fenced overtaken at a checkpoint"));
    TABLE.put(
        Fault.MISSES_WITHOUT_A_DEADLINE,
        all(
            Set.of("execute never", "the timeout of a loop by the kit's clock"),
            each(WAYS, "past by the kit's clock", "ahead by the kit's clock"),
            each(PLAIN, "overtaken at a checkpoint"),
            FENCED));
    TABLE.put(
        Fault.FAILS_LATE_CALLS,
        all(
            each(WAYS, PASTS),
            each(PLAIN, "overtaken at a checkpoint"),
            without(FENCED, "fenced for a time from the fence on"),
            Set.of("the timeout of a loop by the kit's clock")));
    TABLE.put(
        Fault.IS_EXHAUSTED_IN_A_HURRY,
        all(
            each(WAYS, PASTS),
            each(WAYS, "5ms", "tenth"),
            Set.of("fenced overtaken behind a fence", "fenced for no time")));
    TABLE.put(
        Fault.COMPUTES_THOUGH_IT_IS_PAST,
        all(
            each(EXECUTIONS, PASTS),
            Set.of("fenced overtaken behind a fence", "fenced for no time")));
    TABLE.put(Fault.COMPUTES_WRONG_IN_A_HURRY, each(EXECUTIONS, "5ms"));
    TABLE.put(
        Fault.READS_ITS_OWN_CLOCK,
        all(
            each(PLAIN, "past by the kit's clock", "ahead by the kit's clock"),
            each(PLAIN, "overtaken at a checkpoint"),
            FENCED));
    TABLE.put(
        Fault.TIMES_LOOPS_BY_ITS_OWN_CLOCK, Set.of("the timeout of a loop by the kit's clock"));
    TABLE.put(
        Fault.LOOKS_AT_EVERY_TENTH_CHECKPOINT,
        all(
            each(PLAIN, "overtaken at a checkpoint"),
            Set.of("fenced for a time that ends at a checkpoint")));
    TABLE.put(
        Fault.BREAKS_A_MODEL_THAT_MISSED,
        all(
            each(EXECUTIONS, PASTS),
            each(EXECUTIONS, "5ms", "tenth", "never"),
            each(List.of("execute", "fenced"), "overtaken at a checkpoint"),
            without(FENCED, "fenced for a time from the fence on")));
    TABLE.put(
        Fault.BREAKS_A_BURST_THAT_MISSED,
        all(each(List.of("burst"), PASTS), each(List.of("burst"), "5ms", "tenth", "never")));
    TABLE.put(Fault.FAILS_THE_PREPARE_AFTER_A_MISS, ignored("prepare"));
    TABLE.put(Fault.STORES_HALF_A_MODEL, ignored("prepare"));
    TABLE.put(
        Fault.SPOILS_A_CACHE_AT_A_MISS,
        all(ignored("restore"), Set.of("restore 5ms", "restore tenth", "restore never")));
    TABLE.put(Fault.REFUSES_PRIORITIES, each(WAYS, "past", "5ms", "tenth", "never"));
  }

  /** The checks that find a driver that ignores the deadlines of a call, or ends badly at them. */
  private static Set<String> ignored(String way) {
    return each(List.of(way), "past", "past by the kit's clock", "overtaken at a checkpoint");
  }

  private static Set<String> each(List<String> ways, String... names) {
    Set<String> all = new TreeSet<>();
    for (String way : ways) {
      for (String name : names) {
        all.add(way + " " + name);
      }
    }
    return all;
  }

  @SafeVarargs
  private static Set<String> all(Set<String>... parts) {
    Set<String> all = new TreeSet<>();
    for (Set<String> part : parts) {
      all.addAll(part);
    }
    return all;
  }

  private static Set<String> without(Set<String> all, String one) {
    Set<String> rest = new TreeSet<>(all);
    rest.remove(one);
    return rest;
  }

  /** A near deadline is met or missed as the machine has it. */
  private static boolean isLuck(String check) {
    return check.endsWith(" 5ms") || check.endsWith(" tenth");
  }

  /** A driver without a fault has no luck to need. */
  private static boolean isAsExpected(Fault fault, Set<String> failed) {
    Set<String> more = new TreeSet<>(failed);
    more.removeAll(TABLE.get(fault));
    return failed.containsAll(TABLE.get(fault))
        && (fault == Fault.NONE
            ? more.isEmpty()
            : more.stream().allMatch(DeadlineMutantsTest::isLuck));
  }

  /** The check without its priority. */
  private static String name(String check) {
    return Arrays.stream(Priority.values())
        .map(priority -> " " + priority)
        .filter(check::endsWith)
        .findFirst()
        .map(priority -> check.substring(0, check.length() - priority.length()))
        .orElse(check);
  }

  private static Set<String> failed(Fault fault, Set<String> names) throws Exception {
    try (QueueBurstService service = new QueueBurstService();
        FaultyDeadlineDevice device = new FaultyDeadlineDevice(fault, service)) {
      Set<String> failed = new TreeSet<>();
      for (Map.Entry<String, Outcome> check :
          new DeadlineSuite(device, service, EXAMPLES, EXAMPLES).run().entrySet()) {
        names.add(name(check.getKey()));
        if (check.getValue() instanceof Outcome.Failed) {
          failed.add(name(check.getKey()));
        }
      }
      return failed;
    }
  }

  @Test
  void everyDriverIsFoundByItsChecksAndEveryCheckFindsADriver() throws Exception {
    List<String> differences = new ArrayList<>();
    Set<String> checks = new TreeSet<>();
    Set<String> useful = new TreeSet<>();
    for (Fault fault : Fault.values()) {
      Set<String> failed = failed(fault, checks);
      if (!isAsExpected(fault, failed)) {
        differences.add(fault + " is found by " + failed + ", not by " + TABLE.get(fault));
      }
      useful.addAll(failed);
    }
    assertEquals(List.of(), differences);
    assertEquals(checks, useful, "each check fails");
  }
}
