// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.burst.BurstService;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.FaultyBurstDevice.Fault;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Model;
import io.thalamus.tck.burst.BurstSuite;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The kit's checks of bursts find drivers that break one rule each. */
@Order(1)
class BurstMutantsTest {
  /** The drivers that are found by what never comes; the others need no limit. */
  private static final Set<Fault> WAITED_FOR =
      EnumSet.of(
          Fault.KEEPS_STALE_MEMORY,
          Fault.KEEPS_FREED_MEMORY_MAPPED,
          Fault.KEEPS_MEMORY_MAPPED_AFTER_CLOSING,
          Fault.HANGS_WHERE_A_SLOT_IS_UNKNOWN,
          Fault.ENDS_AT_A_BAD_PACKET,
          Fault.SWALLOWS_REQUESTS,
          Fault.ANSWERS_OUT_OF_ORDER,
          Fault.DROPS_RESULTS_WITHOUT_ROOM);

  /** The drivers that are found by what the process has, which no other one is to change. */
  private static final Set<Fault> ALONE =
      EnumSet.of(
          Fault.KEEPS_STALE_MEMORY,
          Fault.KEEPS_FREED_MEMORY_MAPPED,
          Fault.KEEPS_MEMORY_MAPPED_AFTER_CLOSING,
          Fault.LEAVES_A_THREAD);

  /** The drivers at once: most of their time they wait. */
  private static final int THREADS = 3;

  private static final int FAULTS = 40;

  private static final long STALL_NANOS = 200_000_000;
  private static final Duration SHORT_LIMIT = Duration.ofMillis(400);

  /** The checks, without their examples, that find each driver. */
  private static final Map<Fault, Set<String>> TABLE = new EnumMap<>(Fault.class);

  static {
    TABLE.put(Fault.NONE, Set.of());
    TABLE.put(
        Fault.KEEPS_STALE_MEMORY,
        Set.of("a slot that is freed and given again", "memories that stay", "two bursts at once"));
    TABLE.put(
        Fault.KEEPS_FREED_MEMORY_MAPPED,
        Set.of("freed memory is unmapped", "other memories each time", "mappings of bursts"));
    TABLE.put(
        Fault.KEEPS_MEMORY_MAPPED_AFTER_CLOSING,
        Set.of("memory is unmapped when closed", "closed meanwhile"));
    TABLE.put(
        Fault.ASKS_FOR_SLOTS_TWICE,
        Set.of("slots are asked for once", "a slot that is freed and given again"));
    TABLE.put(Fault.CONFUSES_SLOTS, Set.of("memories that stay"));
    TABLE.put(
        Fault.REUSES_THE_REQUEST_OF_THE_SAME_SLOTS,
        Set.of("other places in the same memories", "invalid requests", "packets"));
    TABLE.put(Fault.IGNORES_CANCELLATION, Set.of("cancelled meanwhile"));
    TABLE.put(Fault.CANCELS_FOR_EVER, Set.of("cancelled meanwhile"));
    TABLE.put(
        Fault.IGNORES_DEADLINES, Set.of("a deadline that has passed", "a deadline meanwhile"));
    TABLE.put(Fault.MISSES_ALL_DEADLINES, Set.of("a deadline far away"));
    TABLE.put(Fault.IGNORES_LOOP_TIMEOUTS, Set.of("the timeout of a loop"));
    TABLE.put(
        Fault.COMPUTES_SOMETHING_ELSE,
        Set.of(
            "the same memories",
            "served by the driver",
            "outputs unspecified",
            "one burst after another",
            "closed twice",
            "cancelled before"));
    TABLE.put(
        Fault.LOSES_SHAPES,
        Set.of("outputs unspecified", "outputs insufficient", "as deep as agreed", "version 1"));
    TABLE.put(
        Fault.HANGS_WHERE_A_SLOT_IS_UNKNOWN,
        Set.of("an unknown slot", "slots that the client cannot tell", "packets"));
    TABLE.put(Fault.TAKES_TOKENS_OF_ALL_CLIENTS, Set.of("a buffer of another client"));
    TABLE.put(Fault.TAKES_NO_TOKENS, Set.of("in buffers", "a buffer of another client"));
    TABLE.put(
        Fault.SPEAKS_VERSION_1_ONLY,
        Set.of("elements of version 2", "a deadline far away", "results in order"));
    TABLE.put(Fault.TAKES_ANY_QUEUE, Set.of("bad queues are refused"));
    TABLE.put(
        Fault.SERVES_ONE_BURST_AT_A_TIME, Set.of("two bursts at once", "the timeout of a loop"));
    TABLE.put(
        Fault.SERVES_ONE_BURST_ONLY,
        Set.of(
            "one burst after another",
            "two bursts at once",
            "the timeout of a loop",
            "a buffer of another client"));
    TABLE.put(Fault.LEAVES_A_THREAD, Set.of("threads of bursts", "mappings of bursts"));
    TABLE.put(Fault.ENDS_AT_A_BAD_PACKET, Set.of("packets", "elements of version 2"));
    TABLE.put(
        Fault.SWALLOWS_REQUESTS,
        Set.of("the same memories", "results in order", "cancelled before"));
    TABLE.put(Fault.BELIEVES_ANY_SIZE, Set.of("packets"));
    TABLE.put(Fault.TAKES_UNKNOWN_SLOTS_FOR_THE_FIRST, Set.of("an unknown slot", "packets"));
    TABLE.put(Fault.ALWAYS_TIMES, Set.of("timing as it was asked for", "the same memories"));
    TABLE.put(Fault.ANSWERS_OUT_OF_ORDER, Set.of("results in order"));
    TABLE.put(Fault.ANSWERS_TWICE, Set.of("the same memories", "an unknown slot", "packets"));
    TABLE.put(
        Fault.TELLS_SHAPES_OF_FAILURES, Set.of("an unknown slot", "invalid requests", "packets"));
    TABLE.put(Fault.LEAKS_MEMORY_IN_UNUSED_BYTES, Set.of("unused bytes are zero"));
    TABLE.put(Fault.WRITES_RESULTS_IN_PIECES, Set.of("an unknown slot", "packets"));
    TABLE.put(
        Fault.DROPS_RESULTS_WITHOUT_ROOM,
        Set.of("a result without room", "a request without room"));
  }

  /** The drivers whose fault shows in many more checks than those that are named. */
  private static final Set<Fault> BROAD =
      EnumSet.of(
          Fault.REUSES_THE_REQUEST_OF_THE_SAME_SLOTS,
          Fault.COMPUTES_SOMETHING_ELSE,
          Fault.LOSES_SHAPES,
          Fault.SPEAKS_VERSION_1_ONLY,
          Fault.ALWAYS_TIMES,
          Fault.ANSWERS_TWICE,
          Fault.TELLS_SHAPES_OF_FAILURES,
          Fault.WRITES_RESULTS_IN_PIECES);

  private static final Set<String> KINDS =
      Set.of("mul_tensor_float32_40", "add_tensor_quant8_asymm_40", "split_tensor_float32_40");

  private static final List<Example> EXAMPLES =
      GraphGenerator.over(new CpuDevice("1.0.0")).singles(1, 1).stream()
          .filter(example -> KINDS.contains(example.name()))
          .toList();

  /** The check without the name of an example, and without the thread that serves. */
  private static String name(Check check) {
    String name = check.name().replace(BurstSuite.BY_CALLER, "");
    int end = name.lastIndexOf(' ');
    return end > 0 && KINDS.contains(name.substring(end + 1)) ? name.substring(0, end) : name;
  }

  private static List<Check> checks(Device device, BurstService service, Fault fault) {
    Duration limit = WAITED_FOR.contains(fault) ? SHORT_LIMIT : BurstSuite.USUAL_LIMIT;
    return new BurstSuite(device, service, EXAMPLES, FAULTS, 1, limit, new LongAdder()).checks();
  }

  /** Returns whether a driver may fail no check but those that are named. */
  private static boolean isExact(Fault fault) {
    return !WAITED_FOR.contains(fault) && !BROAD.contains(fault);
  }

  /** The checks of a driver by their names, and those that failed. */
  private record Found(Fault fault, Set<String> checks, Set<String> failed) {}

  private static Found found(Fault fault) throws Exception {
    try (QueueBurstService service = new QueueBurstService();
        FaultyBurstDevice device = new FaultyBurstDevice(fault, service)) {
      Set<String> names = new TreeSet<>();
      Set<String> failed = new TreeSet<>();
      for (Check check : checks(device, service, fault)) {
        if (WAITED_FOR.contains(fault) && check.name().contains(BurstSuite.BY_CALLER)) {
          continue; // Each wait was waited once.
        }
        names.add(name(check));
        if (!isExact(fault) && !TABLE.get(fault).contains(name(check))) {
          continue; // Its end would tell nothing.
        }
        if (check.run() instanceof Outcome.Failed) {
          failed.add(name(check));
        }
      }
      return new Found(fault, names, failed);
    }
  }

  @Test
  void everyDriverIsFoundByItsChecksAndEveryCheckFindsADriver() throws Exception {
    List<Found> all = new ArrayList<>();
    Set<Fault> together = EnumSet.complementOf(EnumSet.copyOf(ALONE));
    all.addAll(Parallel.map(THREADS, List.copyOf(together), BurstMutantsTest::found));
    all.addAll(Parallel.map(1, List.copyOf(ALONE), BurstMutantsTest::found));
    List<String> differences = new ArrayList<>();
    Set<String> checks = new TreeSet<>();
    Set<String> useful = new TreeSet<>();
    for (Found found : all) {
      Fault fault = found.fault();
      Set<String> wanted = TABLE.get(fault);
      Set<String> failed = found.failed();
      if (isExact(fault) ? !failed.equals(wanted) : !failed.containsAll(wanted)) {
        differences.add(fault + " is found by " + failed + ", not by " + wanted);
      }
      checks.addAll(found.checks());
      useful.addAll(failed);
    }
    assertEquals(List.of(), differences);
    assertEquals(checks, useful, "each check fails");
  }

  /** Nobody says how long an execution takes that a busy machine held up once. */
  @Test
  void aDeviceIsNoWorseForAStallOfItsFirstExecution() throws Exception {
    try (QueueBurstService service = new QueueBurstService();
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      for (Check check : checks(new StallingDevice(cpu), service, Fault.NONE)) {
        if (check.name().endsWith(" meanwhile")) {
          assertEquals(Outcome.PASSED, check.run(), check.name());
        }
      }
    }
  }

  /** A device on which each first execution of a model takes long. */
  private static final class StallingDevice extends DelegatingDevice {
    StallingDevice(Device within) {
      super(within);
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      return new DelegatingPreparedModel(this, super.prepare(model, config)) {
        private boolean isWarm;

        @Override
        public ExecutionResult execute(Request request, ExecutionConfig config) {
          if (!isWarm) {
            LockSupport.parkNanos(STALL_NANOS);
          }
          isWarm = true;
          return super.execute(request, config);
        }
      };
    }
  }
}
