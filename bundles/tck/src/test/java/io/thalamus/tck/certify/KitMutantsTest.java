// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.tck.graph.EvaluatorDevice;
import io.thalamus.vectors.Outcome;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The kit finds devices that break one rule each, and passes one that breaks none. */
class KitMutantsTest {
  private static final int GRAPHS = 5;

  /** A device that keeps all rules, for few operations, as far as a subclass does not break one. */
  private static class Mutant extends DelegatingDevice {
    private static final Set<String> OPERATIONS = Set.of("ADD", "RELU", "FULLY_CONNECTED");

    Mutant() {
      super(new EvaluatorDevice());
    }

    @Override
    public BitSet supportedOperations(Model model) throws DeviceException {
      BitSet supported = super.supportedOperations(model);
      for (int i = 0; i < model.main().operations().size(); i++) {
        if (!OPERATIONS.contains(model.main().operations().get(i).type().text())) {
          supported.clear(i);
        }
      }
      return supported;
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      return new MutantModel(this, super.prepare(model, config));
    }

    ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
      return within.execute(request, config);
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
  }

  private static CertificationReport run(Mutant device) throws Exception {
    return Certification.of(device).withRandom(GRAPHS, 1).run(_ -> {});
  }

  @Test
  void aDeviceThatBreaksNoRulePasses() throws Exception {
    CertificationReport report = run(new Mutant());
    assertEquals(List.of(), report.failures(), report::text);
    assertEquals(Certification.groups(), List.copyOf(report.groups().keySet()));
  }

  static Stream<Supplier<Error>> errors() {
    return Stream.of(
        () -> new NoClassDefFoundError("com/example/Kernel"),
        StackOverflowError::new,
        () -> new OutOfMemoryError("Java heap space"),
        () -> new InternalError("a fault occurred in an unsafe memory access operation"));
  }

  private static void assertAllIsTold(Supplier<Error> error, Mutant device) throws Exception {
    CertificationReport report = run(device);
    assertEquals(Certification.groups(), List.copyOf(report.groups().keySet()), report::text);
    for (String group : List.of("operations", "graphs", "concurrency", "life cycle")) {
      List<Finding> failures =
          report.failures().stream().filter(failure -> failure.group().equals(group)).toList();
      assertFalse(failures.isEmpty(), () -> group + "\n" + report.text());
      for (Finding failure : failures) {
        assertTrue(failure.text().contains(error.get().toString()), failure::text);
        assertTrue(failure.text().contains("KitMutantsTest"), failure::text);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("errors")
  void errorsOfAKernelAreFailuresWithTheirCause(Supplier<Error> error) throws Exception {
    assertAllIsTold(
        error,
        new Mutant() {
          @Override
          ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
            throw error.get();
          }
        });
  }

  @Test
  void errorsOfAFactoryAreFailuresWithTheirCause() throws Exception {
    assertAllIsTold(
        StackOverflowError::new,
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
        error,
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

  @Test
  void aNotYetThatPassesFailsWhateverItsGroup() throws Exception {
    for (String id : List.of("graphs/seed 3", "quantization/coupled relu_tensor_quant8_asymm_80")) {
      CertificationReport report =
          Certification.of(new Mutant())
              .withRandom(GRAPHS, 1)
              .with(Exceptions.NONE.andNotYet(id, "being worked on"))
              .run(_ -> {});
      assertEquals(List.of(id), report.failures().stream().map(Finding::id).toList(), report::text);
    }
  }

  private static void assertFound(Mutant device, String... ids) throws Exception {
    CertificationReport report = run(device);
    assertEquals(List.of(ids), report.failures().stream().map(Finding::id).toList(), report::text);
  }

  private static boolean isReadable(Model model) {
    return model.pools().stream().noneMatch(pool -> pool.kind() == MemoryKind.HARDWARE_BUFFER);
  }

  @Test
  void constantsInUnreadableMemoryAreClaimed() throws Exception {
    assertFound(
        new Mutant() {
          @Override
          public BitSet supportedOperations(Model model) throws DeviceException {
            BitSet supported = super.supportedOperations(model);
            supported.set(0, supported.get(0) || !isReadable(model));
            return supported;
          }
        },
        "memory/constants in hardware_buffer");
  }

  @Test
  void constantsInUnreadableMemoryAreRefusedAsIfTheModelWereWrong() throws Exception {
    assertFound(
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            if (!isReadable(model)) {
              throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "an unsupported operation");
            }
            return super.prepare(model, config);
          }
        },
        "memory/constants in hardware_buffer");
  }

  @Test
  void constantsInAFileAreReadAsZeros() throws Exception {
    assertFound(
        new Mutant() {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            boolean isFile =
                model.pools().stream().anyMatch(pool -> pool.kind() == MemoryKind.MMAP_FD);
            return super.prepare(isFile ? withoutConstants(model) : model, config);
          }
        },
        "memory/constants in mmap_fd");
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
        new CertificationReport("thalamus-few", findings, java.time.Duration.ZERO);
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
