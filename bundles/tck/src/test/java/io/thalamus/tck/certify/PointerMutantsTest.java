// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Timing;
import io.thalamus.tck.graph.EvaluatorDevice;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The kit finds devices that break one rule of arguments by pointer each. */
class PointerMutantsTest {
  /**
   * A device that takes arguments by pointer as it should, as far as a subclass does not break a
   * rule: it copies them to pools and back.
   */
  private static class Mutant extends DelegatingDevice {
    private static final Set<String> OPERATIONS = Set.of("ADD", "RELU", "FULLY_CONNECTED");

    Mutant() {
      super(new EvaluatorDevice());
    }

    @Override
    public DeviceInfo info() {
      return super.info().withPointerArguments();
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
      return new MutantModel(this, super.prepare(model, config), model);
    }

    /** Executes a request with pointers. */
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      return model.copied(request, config);
    }

    boolean isRefused(Pointer pointer, Operand operand) {
      MemorySegment segment = pointer.segment();
      boolean isShort = operand.isSizeKnown() && segment.byteSize() < operand.byteSize();
      return isShort
          || !Pointer.suits(segment, operand.type())
          || !segment.scope().isAlive()
          || !segment.isAccessibleBy(Thread.currentThread());
    }
  }

  private static final class MutantModel extends DelegatingPreparedModel {
    private final Mutant device;
    private final Model model;

    MutantModel(Mutant device, PreparedModel within, Model model) {
      super(device, within);
      this.device = device;
      this.model = model;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      boolean hasPointer =
          Stream.concat(request.inputs().stream(), request.outputs().stream())
              .anyMatch(Pointer.class::isInstance);
      return hasPointer
          ? device.execute(this, request, config)
          : delegate().execute(request, config);
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      if (hasPointers(request)) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "pointers to a fenced execution");
      }
      return super.executeFenced(request, waitFor, config);
    }

    ExecutionResult copied(Request request, ExecutionConfig config) {
      for (int i = 0; i < request.inputs().size(); i++) {
        if (request.inputs().get(i) instanceof Pointer pointer
            && device.isRefused(pointer, model.main().input(i))) {
          return new Failed(ErrorStatus.INVALID_ARGUMENT, "input " + i);
        }
      }
      for (int i = 0; i < request.outputs().size(); i++) {
        if (request.outputs().get(i) instanceof Pointer pointer
            && (pointer.segment().isReadOnly()
                || device.isRefused(pointer, model.main().output(i)))) {
          return new Failed(ErrorStatus.INVALID_ARGUMENT, "output " + i);
        }
      }
      List<MemoryPool> pools = new ArrayList<>(request.pools());
      List<SharedMemory> own = new ArrayList<>();
      List<Argument> inputs = pooled(request.inputs(), pools, own);
      List<Argument> outputs = pooled(request.outputs(), pools, own);
      ExecutionResult result = delegate().execute(new Request(inputs, outputs, pools), config);
      if (result instanceof Completed) {
        for (int i = 0; i < outputs.size(); i++) {
          if (request.outputs().get(i) instanceof Pointer pointer) {
            int pool = ((Location) outputs.get(i)).pool();
            pointer
                .segment()
                .copyFrom(
                    own.get(pool - request.pools().size()).segment().asSlice(0, size(pointer)));
          }
        }
      }
      own.forEach(SharedMemory::close);
      return result;
    }

    private static long size(Pointer pointer) {
      return pointer.segment().byteSize();
    }

    private static List<Argument> pooled(
        List<Argument> arguments, List<MemoryPool> pools, List<SharedMemory> own) {
      List<Argument> pooled = new ArrayList<>();
      for (Argument argument : arguments) {
        if (argument instanceof Pointer pointer) {
          SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, size(pointer));
          memory.segment().asSlice(0, size(pointer)).copyFrom(pointer.segment());
          own.add(memory);
          pools.add(new MemoryPool.Shared(memory));
          pooled.add(new Location(pools.size() - 1, 0, size(pointer), pointer.shape()));
        } else {
          pooled.add(argument);
        }
      }
      return pooled;
    }
  }

  private static final int EXAMPLES = 4;

  /** All mutants take the same operations. */
  private static List<Example> examples;

  @BeforeAll
  static void generate() throws Exception {
    Device device = new Mutant();
    examples = new ArrayList<>();
    for (Example example : GraphGenerator.over(device).singles(1, 1)) {
      if (examples.size() == EXAMPLES) {
        break;
      }
      try (DecodedExample decoded = example.decode()) {
        Model model = decoded.model();
        if (device.supportedOperations(model).cardinality() == model.main().operations().size()) {
          examples.add(example);
        }
      }
    }
  }

  private static List<Finding> run(Device device) throws Exception {
    List<Finding> found = new ArrayList<>();
    Subject subject = new Subject(Certification.of(device), examples);
    PointerChecks.run(subject, new Findings("pointers", device, found::add));
    return found;
  }

  @Test
  void aDeviceThatBreaksNoRulePasses() throws Exception {
    List<Finding> found = run(new Mutant());
    assertEquals(4 * EXAMPLES + 8, found.size(), found::toString);
    found.forEach(finding -> assertEquals(Outcome.PASSED, finding.outcome(), finding.name()));
  }

  @Test
  void aDeviceThatTakesNoPointersIsNotAsked() throws Exception {
    List<Finding> found = run(new EvaluatorDevice());
    assertEquals(1, found.size());
    assertInstanceOf(Outcome.Skipped.class, found.getFirst().outcome());
  }

  /** Returns a segment over the same bytes and as many more, that can be written. */
  @SuppressWarnings("restricted")
  private static MemorySegment wider(MemorySegment segment, long more) {
    return MemorySegment.ofAddress(segment.address()).reinterpret(segment.byteSize() + more);
  }

  private static Pointer first(List<Argument> arguments) {
    return (Pointer) arguments.stream().filter(Pointer.class::isInstance).findFirst().orElseThrow();
  }

  private static boolean hasPointers(Request request) {
    return request.pools().isEmpty();
  }

  private static final class PastTheEnd extends Mutant {
    @Override
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      ExecutionResult result = super.execute(model, request, config);
      if (result instanceof Completed && hasPointers(request)) {
        MemorySegment output = first(request.outputs()).segment();
        wider(output, 1).set(ValueLayout.JAVA_BYTE, output.byteSize(), (byte) 1);
      }
      return result;
    }
  }

  /** Goes wrong where it uses an argument in place: in memory that nobody can close. */
  private static final class PastTheEndInPlace extends Mutant {
    @Override
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      ExecutionResult result = super.execute(model, request, config);
      if (result instanceof Completed && hasPointers(request)) {
        MemorySegment output = first(request.outputs()).segment();
        if (Pointer.isSteady(output)) {
          wider(output, 1).set(ValueLayout.JAVA_BYTE, output.byteSize(), (byte) 1);
        }
      }
      return result;
    }
  }

  private static final class WritesInputs extends Mutant {
    @Override
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      ExecutionResult result = super.execute(model, request, config);
      if (result instanceof Completed && hasPointers(request)) {
        wider(first(request.inputs()).segment(), 0).fill((byte) 0);
      }
      return result;
    }
  }

  /** Writes the outputs of an execution a second time when the next one comes. */
  private static final class KeepsOutputs extends Mutant {
    private Pointer kept;

    @Override
    synchronized ExecutionResult execute(
        MutantModel model, Request request, ExecutionConfig config) {
      if (kept != null && kept.segment().scope().isAlive()) {
        if (kept.segment().isAccessibleBy(Thread.currentThread())) {
          kept.segment().fill((byte) 5);
        }
      }
      ExecutionResult result = super.execute(model, request, config);
      kept = result instanceof Completed && hasPointers(request) ? first(request.outputs()) : null;
      return result;
    }
  }

  /** Reads the inputs of its first execution at all later ones. */
  private static final class KeepsInputs extends Mutant {
    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      Mutant keeping =
          new Mutant() {
            private List<Argument> kept;

            @Override
            synchronized ExecutionResult execute(
                MutantModel within, Request request, ExecutionConfig executionConfig) {
              Request used = request;
              if (hasPointers(request)) {
                kept = kept == null ? request.inputs() : kept;
                used = new Request(kept, request.outputs(), List.of());
              }
              return super.execute(within, used, executionConfig);
            }
          };
      return keeping.prepare(model, config);
    }
  }

  private static final class OtherThread extends Mutant {
    @Override
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      return CompletableFuture.supplyAsync(() -> super.execute(model, request, config)).join();
    }
  }

  private static final class RefusesNothing extends Mutant {
    @Override
    boolean isRefused(Pointer pointer, Operand operand) {
      return false;
    }
  }

  private static final class IgnoresPointers extends Mutant {
    @Override
    ExecutionResult execute(MutantModel model, Request request, ExecutionConfig config) {
      return new Completed(List.of(), Timing.NONE);
    }
  }

  /** Takes the same request for the same execution. */
  private static final class RemembersAnswers extends Mutant {
    private Request last;
    private ExecutionResult answer;

    @Override
    synchronized ExecutionResult execute(
        MutantModel model, Request request, ExecutionConfig config) {
      if (request != last) {
        answer = super.execute(model, request, config);
        last = request;
      }
      return answer;
    }
  }

  /** Checks the arguments of the same request once. */
  private static final class ChecksOnce extends Mutant {
    private final Set<Pointer> checked = Collections.newSetFromMap(new IdentityHashMap<>());

    @Override
    synchronized boolean isRefused(Pointer pointer, Operand operand) {
      return checked.add(pointer) && super.isRefused(pointer, operand);
    }
  }

  static Stream<Arguments> mutants() {
    return Stream.of(
        Arguments.of(new PastTheEnd(), "relu_", "it wrote outside the outputs"),
        Arguments.of(new PastTheEndInPlace(), "relu_", "it wrote outside the outputs"),
        Arguments.of(new WritesInputs(), "relu_", "it wrote to input 0"),
        Arguments.of(
            new KeepsOutputs(),
            "after the return",
            "it wrote to an argument after the execution had returned"),
        Arguments.of(new KeepsInputs(), "after the return", "differs from that in a pool"),
        Arguments.of(
            new RemembersAnswers(), "the same request again", "differs from that in a pool"),
        Arguments.of(new ChecksOnce(), "the same request again", "closed"),
        Arguments.of(new OtherThread(), "relu_", "INVALID_ARGUMENT"),
        Arguments.of(new RefusesNothing(), "on the heap", "not with [INVALID_ARGUMENT]"),
        Arguments.of(new RefusesNothing(), "without alignment", "not with [INVALID_ARGUMENT]"),
        Arguments.of(new RefusesNothing(), "in closed memory", "closed"),
        Arguments.of(new IgnoresPointers(), "relu_", "differs from that in a pool"),
        Arguments.of(new IgnoresPointers(), "too short", "not with [INVALID_ARGUMENT]"));
  }

  @ParameterizedTest
  @MethodSource("mutants")
  void oneThatBreaksARuleFails(Mutant device, String check, String reason) throws Exception {
    List<Finding> found = run(device);
    assertTrue(
        found.stream()
            .anyMatch(
                finding ->
                    finding.name().contains(check)
                        && finding.outcome() instanceof Outcome.Failed failed
                        && failed.reason().contains(reason)),
        () -> device.getClass().getSimpleName() + ": " + found);
  }
}
