// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.tck.graph.EvaluatorDevice;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The kit finds devices that break one rule each, and passes one that breaks none. */
@Order(1)
class KitMutantsTest {
  private static final int GRAPHS = 5;

  /**
   * A device that keeps all rules, for few operations, as far as a subclass does not break one.
   * Large models it executes by asking whether to stop, and by nothing else.
   */
  private static class Mutant extends DelegatingDevice {
    private static final Set<String> OPERATIONS = Set.of("ADD", "RELU", "FULLY_CONNECTED");
    private static final int LARGE = 1 << 15;

    Mutant() {
      super(new EvaluatorDevice());
    }

    @Override
    public BitSet supportedOperations(Model model) throws DeviceException {
      BitSet supported = super.supportedOperations(model);
      for (int i = 0; i < model.main().operations().size(); i++) {
        boolean isKnown = OPERATIONS.contains(model.main().operations().get(i).type().text());
        supported.set(i, isKnown && (supported.get(i) || isLarge(model)));
      }
      return supported;
    }

    private static boolean isLarge(Model model) {
      return model.main().operands().stream()
          .anyMatch(o -> o.isSizeKnown() && o.shape().elementCount() > LARGE);
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      PreparedModel prepared = super.prepare(model, config);
      return new MutantModel(this, isLarge(model) ? new LargeModel(model) : prepared);
    }

    ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
      return within.execute(request, config);
    }

    long ownBytes(PreparedModel within) {
      return within.ownBytes();
    }

    FencedExecution executeFenced(
        PreparedModel within, Request request, List<SyncFence> waitFor, ExecutionConfig config)
        throws DeviceException {
      return within.executeFenced(request, waitFor, config);
    }
  }

  private static final class MutantModel extends DelegatingPreparedModel {
    private final Mutant device;

    MutantModel(Mutant device, PreparedModel within) {
      super(device, within);
      this.device = device;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return device.execute(delegate(), request, config);
    }

    @Override
    public long ownBytes() {
      return device.ownBytes(delegate());
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      return device.executeFenced(delegate(), request, waitFor, config);
    }
  }

  private static CertificationReport run(Mutant device) throws Exception {
    return Certification.of(device).withRandom(GRAPHS, 1).run(_ -> {});
  }

  @Test
  void aDeviceThatBreaksNoRulePassesAndANotYetThatPassesFailsWhateverItsGroup() throws Exception {
    List<String> ids = List.of("quantization/coupled relu_tensor_quant8_asymm_80", "graphs/seed 3");
    Exceptions exceptions = Exceptions.NONE;
    for (String id : ids) {
      exceptions = exceptions.andNotYet(id, "being worked on");
    }
    CertificationReport report =
        Certification.of(new Mutant()).withRandom(GRAPHS, 1).with(exceptions).run(_ -> {});
    assertEquals(
        Set.copyOf(ids),
        report.failures().stream().map(Finding::id).collect(Collectors.toSet()),
        report::text);
    assertEquals(Certification.groups(), List.copyOf(report.groups().keySet()));
  }

  private static final List<Supplier<Error>> ERRORS =
      List.of(
          () -> new NoClassDefFoundError("com/example/Kernel"),
          StackOverflowError::new,
          () -> new OutOfMemoryError("Java heap space"),
          () -> new InternalError("a fault occurred in an unsafe memory access operation"));

  /** Each failure of the groups that execute has one of the errors; each error fails a check. */
  private static void assertAllIsTold(List<Supplier<Error>> errors, Mutant device)
      throws Exception {
    CertificationReport report = run(device);
    assertEquals(Certification.groups(), List.copyOf(report.groups().keySet()), report::text);
    Set<String> texts = errors.stream().map(e -> e.get().toString()).collect(Collectors.toSet());
    Set<String> told = new TreeSet<>();
    for (String group : List.of("operations", "graphs", "concurrency", "life cycle")) {
      List<Finding> failures =
          report.failures().stream().filter(failure -> failure.group().equals(group)).toList();
      assertFalse(failures.isEmpty(), () -> group + "\n" + report.text());
      for (Finding failure : failures) {
        List<String> its = texts.stream().filter(failure.text()::contains).toList();
        assertFalse(its.isEmpty(), failure::text);
        told.addAll(its);
        assertTrue(failure.text().contains("KitMutantsTest"), failure::text);
      }
    }
    assertEquals(texts, told, report::text);
  }

  @Test
  void errorsOfAKernelAreFailuresWithTheirCause() throws Exception {
    assertAllIsTold(
        ERRORS,
        new Mutant() {
          private final AtomicInteger executions = new AtomicInteger();

          @Override
          ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
            throw ERRORS.get(executions.getAndIncrement() % ERRORS.size()).get();
          }
        });
  }

  @Test
  void errorsOfAFactoryAreFailuresWithTheirCause() throws Exception {
    assertAllIsTold(
        List.of(StackOverflowError::new),
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) {
            throw new StackOverflowError();
          }
        });
  }

  @Test
  void errorsOfAQuestionAreFailuresWithTheirCause() throws Exception {
    Supplier<Error> error = () -> new ExceptionInInitializerError("of the driver");
    assertAllIsTold(
        List.of(error),
        new Mutant() {
          @Override
          public BitSet supportedOperations(Model model) {
            throw error.get();
          }

          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) {
            throw error.get();
          }
        });
  }

  private static final List<Example> SINGLES =
      GraphGenerator.over(new Mutant()).singles(1, 1).stream()
          .filter(single -> single.main().operations().getFirst().inputs().size() > 1)
          .toList();

  /** A group finds exactly these checks failed. */
  private static void assertFound(Group group, Certification settings, String... names)
      throws Exception {
    List<Finding> findings = new ArrayList<>();
    group.run(
        new Subject(settings, SINGLES), new Findings("group", settings.device, findings::add));
    assertEquals(
        List.of(names),
        findings.stream()
            .filter(finding -> finding.outcome() instanceof Outcome.Failed)
            .map(Finding::name)
            .toList(),
        () -> findings.stream().map(Finding::text).collect(Collectors.joining("\n")));
  }

  private static void assertFound(Group group, Mutant device, String... names) throws Exception {
    assertFound(group, Certification.of(device), names);
  }

  private static boolean isReadable(Model model) {
    return model.pools().stream().noneMatch(pool -> pool.kind() == MemoryKind.HARDWARE_BUFFER);
  }

  @Test
  void constantsInUnreadableMemoryAreClaimed() throws Exception {
    assertFound(
        MemoryChecks::run,
        new Mutant() {
          @Override
          public BitSet supportedOperations(Model model) throws DeviceException {
            BitSet supported = super.supportedOperations(model);
            supported.set(0, supported.get(0) || !isReadable(model));
            return supported;
          }
        },
        "constants in hardware_buffer");
  }

  @Test
  void constantsInUnreadableMemoryAreRefusedAsIfTheModelWereWrong() throws Exception {
    assertFound(
        MemoryChecks::run,
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            if (!isReadable(model)) {
              throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "an unsupported operation");
            }
            return super.prepare(model, config);
          }
        },
        "constants in hardware_buffer");
  }

  @Test
  void constantsInAFileAreReadAsZeros() throws Exception {
    assertFound(
        MemoryChecks::run,
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            boolean isFile =
                model.pools().stream().anyMatch(pool -> pool.kind() == MemoryKind.MMAP_FD);
            return super.prepare(isFile ? withoutConstants(model) : model, config);
          }
        },
        "constants in mmap_fd");
  }

  /** The model with zeros in place of all constants that stand in a pool. */
  private static Model withoutConstants(Model model) {
    Subgraph main = model.main();
    List<Operand> operands =
        main.operands().stream()
            .map(
                operand ->
                    operand.lifetime() instanceof Lifetime.ConstantReference constant
                        ? operand.with(new Lifetime.ConstantCopy(new byte[(int) constant.length()]))
                        : operand)
            .toList();
    return Model.of(
        new Subgraph(operands, main.operations(), main.inputIndexes(), main.outputIndexes()));
  }

  @Test
  void aDeviceThatBreaksNoRulePassesTheGroupsOfThisTest() throws Exception {
    for (Group group :
        List.<Group>of(
            MemoryChecks::run, ControlChecks::run, LifecycleChecks::run, FactChecks::run)) {
      assertFound(group, Certification.of(new Mutant()).withActivation(Mutant::new));
    }
  }

  @Test
  void aDeviceCannotBeStopped() throws Exception {
    assertFound(
        ControlChecks::run,
        new Mutant() {
          @Override
          ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
            return super.execute(within, request, config.with(ExecutionControl.NONE));
          }
        },
        "cancel at the first checkpoint",
        "long ADD CANCELLED",
        "long ADD DEADLINE",
        "long RELU CANCELLED",
        "long RELU DEADLINE");
  }

  private static final String[] PREPARES =
      Stream.of("ADD TENSOR_FLOAT32", "ADD TENSOR_QUANT8_ASYMM")
          .flatMap(model -> Stream.of(model, model.replace("ADD", "RELU")))
          .sorted()
          .flatMap(model -> Stream.of(model + " CANCELLED", model + " DEADLINE"))
          .map(name -> "prepare " + name)
          .toArray(String[]::new);

  @Test
  void aPrepareNeverAsksItsControl() throws Exception {
    assertFound(
        ControlChecks::run,
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            return super.prepare(model, config.with(ExecutionControl.NONE));
          }
        },
        PREPARES);
  }

  /** A driver that asks once in front, and then compiles to the end whatever is answered. */
  @Test
  void aPrepareAsksItsControlInFrontOnly() throws Exception {
    assertFound(
        ControlChecks::run,
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            ExecutionControl.Signal first = config.control().checkpoint();
            return super.prepare(model, config.with(() -> first));
          }
        },
        PREPARES);
  }

  @Test
  void fencesAreIgnored() throws Exception {
    assertFound(
        FenceChecks::run,
        new Mutant() {
          @Override
          FencedExecution executeFenced(
              PreparedModel within,
              Request request,
              List<SyncFence> waitFor,
              ExecutionConfig config)
              throws DeviceException {
            return super.executeFenced(within, request, List.of(), config);
          }
        },
        "a late fence",
        "each of several is late",
        "a fence has failed",
        "a fence fails late",
        "one of several has failed",
        "a fence that never signals, with a deadline",
        "a fence that never signals, cancelled",
        "its fence waits, and there is no result",
        "times unasked",
        "a chain",
        "a chain whose first fence fails");
  }

  /** Threads that stay until the test ends. */
  private static final class Threads implements AutoCloseable {
    private final CountDownLatch end = new CountDownLatch(1);

    void start() {
      Thread.ofPlatform()
          .stackSize(1 << 16)
          .daemon()
          .start(
              () -> {
                try {
                  end.await();
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
              });
    }

    @Override
    public void close() {
      end.countDown();
    }
  }

  @Test
  void eachExecutionLeavesAThread() throws Exception {
    try (Threads threads = new Threads()) {
      assertFound(
          LeakChecks::run,
          new Mutant() {
            @Override
            ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
              threads.start();
              return super.execute(within, request, config);
            }
          },
          "threads of executions",
          "threads of prepared models");
    }
  }

  @Test
  void eachActivationLeavesAThread() throws Exception {
    try (Threads threads = new Threads()) {
      assertFound(
          LeakChecks::run,
          Certification.of(new Mutant())
              .withActivation(
                  () -> {
                    threads.start();
                    return new Mutant();
                  }),
          "threads of activations");
    }
  }

  @Test
  void aThreadKeepsWhatItExecuted() throws Exception {
    assertFound(
        LeakChecks::run,
        new Mutant() {
          private final ThreadLocal<List<Object>> kept = ThreadLocal.withInitial(ArrayList::new);

          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            PreparedModel prepared = super.prepare(model, config);
            kept.get().add(prepared);
            return prepared;
          }
        },
        "closed models are let go");
  }

  @Test
  void memoryOutsideTheHeapIsNotGivenBack() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      assertFound(
          LeakChecks::run,
          new Mutant() {
            @Override
            ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
              if (request.pools().getFirst() instanceof MemoryPool.Shared shared) {
                arena.allocate(shared.memory().size() * 2 / 3, Long.BYTES);
              }
              return super.execute(within, request, config);
            }
          },
          "memory of executions",
          "memory of prepared models");
    }
  }

  /** A driver that counts the memory of an execution when it has made it. */
  @Test
  void theMemoryOfAnExecutionIsCountedTooLate() throws Exception {
    assertFound(
        LifecycleChecks::run,
        new Mutant() {
          private long frames;

          @Override
          ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
            frames = 1_000;
            return super.execute(within, request, config);
          }

          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            frames = 0;
            return super.prepare(model, config);
          }

          @Override
          long ownBytes(PreparedModel within) {
            return 5_000 + frames;
          }
        },
        "bytes of its own");
  }

  @Test
  void theServiceDeclaresOtherFacts() throws Exception {
    assertFound(
        FactChecks::run,
        Certification.of(new Mutant())
            .withProperties(Map.of("thalamus.device", "other", "thalamus.type", "ACCELERATOR")),
        "declared device",
        "declared type");
  }

  @Test
  void manyReasonsToSkipAreSummedUpByGroup() {
    List<Finding> findings =
        Stream.iterate(0, i -> i < 325, i -> i + 1)
            .map(
                i ->
                    new Finding(
                        i < 300 ? "operations" : "caching",
                        "check " + i,
                        new Outcome.Skipped("no operation " + (i < 200 ? "ADD" : i))))
            .toList();
    CertificationReport report =
        new CertificationReport("thalamus-few", findings, 0, 0, java.time.Duration.ZERO);
    List<String> lines = report.text().lines().toList();
    assertEquals(
        List.of(
            "skipped 200 of operations: no operation ADD",
            "skipped 1 of operations: no operation 200",
            "skipped 1 of operations: no operation 201",
            "skipped 98 of operations: 98 other reasons"),
        lines.subList(0, 4));
    assertEquals(13, lines.size(), report::text);
    assertEquals("0 passed, 0 failed, 325 skipped", lines.getLast());
  }
}
