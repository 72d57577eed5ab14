// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Burst;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.Variants;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.ServingListener.EndedRequest;
import io.thalamus.serving.TensorMetadata;
import io.thalamus.serving.server.Sequences.Turn;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A request from its arrival to its answer. Thread-safe. One thread after another works on it: that
 * which submits, then those that complete its executions.
 */
final class RunningInference implements PendingInference {
  private static final System.Logger LOG =
      System.getLogger(RunningInference.class.getPackageName());

  /** Bytes for an output whose size is not known yet. */
  private static final long FIRST_GUESS = 1 << 16;

  /** An execution is started this often at most: larger outputs, and devices that went. */
  private static final int MOST_STARTS = 4;

  private static final MemorySegment IGNORED = MemorySegment.ofArray(new byte[0]);

  private final InferenceRequest request;
  private final Version version;
  private final LoadedVersion loaded;
  private final Optional<Duration> timeout;
  private final Announcer announcer;
  private final End end;

  /** Of its sequence; null without one. */
  private final Turn turn;

  private final Completion completion = new Completion();

  /** Hears of the end of a request. */
  @FunctionalInterface
  interface End {
    void ended(boolean isAnswered);
  }

  // Of the thread that works on it.
  private LoadedVersion used;
  private Runnable endUse = () -> {};

  private Input[] inputs;
  private List<Integer> wanted;

  /**
   * The memory that executions write, by the model's order; null for an output that is not wanted.
   */
  private MemorySegment[] outputs;

  /** The memory of the answer: another than the above if it is mapped. */
  private MemorySegment[] targets;

  private final MappedCopies copies = new MappedCopies();

  /** Of its sequence, or its own; null until they are needed. */
  private SequenceState states;

  private int starts;

  /** True if the execution is counted for another one that it was joined with. */
  private boolean isRider;

  /** Checks and copies of inputs alone: what lies between them are waits. */
  private long inputNanos;

  private long startedNanos;
  private long inferNanos;
  private Optional<ExecutionReport> last = Optional.empty();

  /** True if it is computed in the thread that works on it. */
  private boolean isDirect;

  /** Where it is computed by a burst, in the thread that works on it; null if it is not. */
  private BurstLine line;

  private volatile Execution execution;
  private volatile boolean isCancelled;

  /**
   * A request for a version that exists.
   *
   * @param loaded what serves it, which is let go of at the end
   * @param timeout of the request, or of the server where it has none
   * @param turn in its sequence, which is ended after the completion; null without one
   * @param end is run at the end, before the completion
   */
  RunningInference(
      InferenceRequest request,
      Version version,
      LoadedVersion loaded,
      Optional<Duration> timeout,
      Announcer announcer,
      Turn turn,
      End end) {
    this.request = request;
    this.version = version;
    this.loaded = loaded;
    this.used = loaded;
    this.timeout = timeout;
    this.announcer = announcer;
    this.turn = turn;
    this.end = end;
    version.counters().arrived();
    announcer.arrived(version.model(), version.number());
  }

  @Override
  public CompletableFuture<InferenceResponse> completion() {
    return completion;
  }

  @Override
  public void cancel() {
    isCancelled = true;
    Execution running = execution;
    if (running != null) {
      running.stop();
    }
  }

  /** Does the same in the calling thread, to the end, unless it is joined with others. */
  void startDirectly() {
    isDirect = true;
    start();
  }

  /** Does the same by a burst, in a thread of its line. */
  void start(BurstLine of) {
    line = of;
    start();
  }

  /** Returns whether it may be executed as one with others. */
  boolean canBeJoined() {
    return turn == null && loaded.joiner().isPresent();
  }

  /** Checks it and starts its execution. */
  void start() {
    run(
        () -> {
          long begun = System.nanoTime();
          inputs = loaded.signature().order(request.inputs());
          for (int i = 0; i < inputs.length; i++) {
            Input each = inputs[i];
            MemorySegment value = copies.in(each.name(), each.value());
            inputs[i] = new Input(each.name(), each.datatype(), each.shape(), value);
          }
          wanted = loaded.signature().wanted(request.outputs());
          inputNanos = System.nanoTime() - begun;
          if (canBeJoined() && isOfEqualRows()) {
            loaded.joiner().get().add(this);
          } else {
            alone();
          }
        });
  }

  /**
   * Executes it by itself. If the model has to be compiled for its dimensions, and this thread must
   * not wait, another thread does both.
   */
  void alone() {
    Map<String, Shape> shapes = loaded.otherShapes(inputs);
    if (shapes.isEmpty()) {
      run(this::begin);
      return;
    }
    Task shaped =
        () -> {
          Variants.Use<LoadedVersion> use = loaded.shaped().use(shapes);
          used = use.value();
          endUse = use.end();
          begin();
        };
    if (isDirect || line != null || loaded.shaped().has(shapes)) {
      run(shaped);
    } else {
      Thread.ofPlatform()
          .daemon()
          .inheritInheritableThreadLocals(false)
          .name("thalamus-serving-shapes")
          .start(() -> run(shaped));
    }
  }

  /** A part of its work. */
  @FunctionalInterface
  private interface Task {
    void run() throws ServingException;
  }

  private void run(Task task) {
    try {
      task.run();
    } catch (ServingException e) {
      fail(e);
    } catch (RuntimeException e) {
      // Of an allocator, or a fault of ours: whoever waits must learn of it.
      fail(fault(e));
    }
  }

  /** Returns true if all inputs have as many rows. */
  private boolean isOfEqualRows() {
    return Arrays.stream(inputs).allMatch(each -> each.shape().getFirst() == rows());
  }

  InferenceRequest request() {
    return request;
  }

  /** Returns the first dimension of its inputs. */
  long rows() {
    return inputs[0].shape().getFirst();
  }

  MemorySegment input(int place) {
    return inputs[place].value();
  }

  /** Returns the time that is left of its limit. */
  Optional<Duration> left() {
    return timeout.map(time -> time.minusNanos(System.nanoTime() - request.arrivalNanos()));
  }

  /** Notes that a joint execution begins. */
  void begun() {
    startedNanos = System.nanoTime();
  }

  /**
   * Ends it with its rows of a joint execution.
   *
   * @param values its rows of all outputs, copied before this returns
   * @param isCounted whether it is the one for which the execution is counted
   */
  void joined(ExecutionReport report, MemorySegment[] values, boolean isCounted) {
    run(
        () -> {
          if (isCancelled) {
            throw cancelled();
          }
          starts = 1;
          isRider = !isCounted;
          last = Optional.of(report);
          for (StepReport step : report.steps()) {
            inferNanos += step.duration().toNanos();
          }
          Signature signature = loaded.signature();
          outputs = new MemorySegment[values.length];
          targets = outputs.clone();
          List<OutputShape> shapes = new ArrayList<>(report.outputs());
          for (int i = 0; i < values.length; i++) {
            int place = signature.outputIndex(i);
            int[] dimensions = shapes.get(place).shape().toArray();
            dimensions[0] = Math.toIntExact(rows());
            shapes.set(place, new OutputShape(Shape.of(dimensions), true));
            if (wanted.contains(i)) {
              allocate(i, values[i].byteSize());
              outputs[i].asSlice(0, values[i].byteSize()).copyFrom(values[i]);
            }
          }
          answer(
              new ExecutionReport(
                  report.code(), report.message(), shapes, report.timing(), report.steps()));
        });
  }

  private void begin() throws ServingException {
    outputs = new MemorySegment[used.signature().outputs().size()];
    targets = outputs.clone();
    for (int index : wanted) {
      Operand operand = used.signature().output(index);
      allocate(index, operand.isSizeKnown() ? operand.byteSize() : FIRST_GUESS);
    }
    compute();
  }

  private void allocate(int index, long bytes) throws ServingException {
    MemorySegment target =
        request.allocator().allocate(used.signature().outputTensor(index), Math.max(1, bytes));
    targets[index] = target;
    outputs[index] = target.isMapped() ? copies.allocate(target.byteSize()) : target;
  }

  private void compute() throws ServingException {
    long begun = System.nanoTime();
    Signature signature = used.signature();
    if (states == null && !signature.states().isEmpty()) {
      states = turn == null ? new SequenceState(signature.states()) : turn.state();
    }
    Execution next = used.compilation().createExecution();
    next.setPriority(request.priority())
        .setClient(request.client().orElse(""))
        .setMeasureSteps(request.report());
    Optional<Duration> left = left();
    if (left.isPresent()) {
      if (!left.get().isPositive()) {
        throw new ServingException(
            Failure.DEADLINE_EXCEEDED,
            "the time limit of " + Codes.text(timeout.get()) + " has passed before the execution");
      }
      next.setTimeout(left.get());
    }
    for (int i = 0; i < inputs.length; i++) {
      next.setInput(signature.inputIndex(i), inputs[i].value(), signature.shape(i, inputs[i]));
    }
    for (int i = 0; i < outputs.length; i++) {
      next.setOutput(signature.outputIndex(i), outputs[i] == null ? IGNORED : outputs[i]);
    }
    for (int i = 0; i < signature.states().size(); i++) {
      next.setInput(signature.states().get(i).input(), states.before(i));
      next.setOutput(signature.states().get(i).output(), states.after(i));
    }
    if (isCancelled) {
      throw cancelled();
    }
    execution = next;
    starts++;
    if (starts == 1) {
      startedNanos = System.nanoTime();
      inputNanos += startedNanos - begun;
    }
    if (line != null) {
      Burst burst = line.burst(version, used);
      computeHere(() -> next.burstCompute(burst));
      return;
    }
    if (isDirect) {
      computeHere(next::compute);
      return;
    }
    CompletableFuture<ExecutionReport> future = next.computeAsync();
    if (isCancelled) {
      // It came before there was anything to stop.
      next.stop();
    }
    future.whenComplete(this::ended);
  }

  private void computeHere(Supplier<ExecutionReport> execute) {
    ExecutionReport report = null;
    Throwable fault = null;
    try {
      report = execute.get();
    } catch (RuntimeException | Error e) {
      // As a thread of the runtime gives it to whoever waits.
      fault = e;
    }
    ended(report, fault);
  }

  private void ended(ExecutionReport report, Throwable fault) {
    run(
        () -> {
          if (fault != null) {
            fail(fault(fault));
            return;
          }
          last = Optional.of(report);
          for (StepReport step : report.steps()) {
            inferNanos += step.duration().toNanos();
          }
          if (report.isSuccess()) {
            answer(report);
          } else if (isCancelled) {
            fail(cancelled());
          } else if (starts < MOST_STARTS && isWorthAnother(report)) {
            compute();
          } else {
            fail(Codes.of(report));
          }
        });
  }

  /** Returns whether the same request may succeed at once, and makes room for it. */
  private boolean isWorthAnother(ExecutionReport report) throws ServingException {
    if (report.code() == ResultCode.OUTPUT_INSUFFICIENT_SIZE) {
      return grow(report.outputs());
    }
    return report.code() == ResultCode.DEAD_OBJECT
        || report.code() == ResultCode.UNAVAILABLE_DEVICE;
  }

  private boolean grow(List<OutputShape> shapes) throws ServingException {
    boolean hasGrown = false;
    for (int index : wanted) {
      int place = used.signature().outputIndex(index);
      if (place < shapes.size() && !shapes.get(place).isSufficient()) {
        long needed = byteSize(index, shapes.get(place).shape());
        allocate(index, Math.max(2 * outputs[index].byteSize(), needed));
        hasGrown = true;
      }
    }
    return hasGrown;
  }

  private long byteSize(int index, Shape shape) {
    return Math.multiplyExact(
        shape.elementCount(), used.signature().output(index).type().elementSize());
  }

  private void answer(ExecutionReport report) throws ServingException {
    long computed = System.nanoTime();
    List<InferenceResponse.Output> answers = new ArrayList<>();
    for (int index : wanted) {
      TensorMetadata metadata = used.signature().outputTensor(index);
      int place = used.signature().outputIndex(index);
      Operand operand = used.signature().output(index);
      Shape shape =
          place < report.outputs().size() ? report.outputs().get(place).shape() : operand.shape();
      long bytes =
          operand.type().isTensor() ? byteSize(index, shape) : operand.type().elementSize();
      MemorySegment value = targets[index].asSlice(0, bytes);
      if (targets[index] != outputs[index]) {
        MappedCopies.out(metadata.name(), outputs[index].asSlice(0, bytes), value);
      }
      answers.add(
          new InferenceResponse.Output(
              metadata, Arrays.stream(shape.toArray()).mapToObj(Long::valueOf).toList(), value));
    }
    RequestTimes times = times(computed);
    InferenceResponse response =
        new InferenceResponse(
            version.model(), version.number(), request.id(), answers, report, starts, times);
    finish(Optional.empty(), "", times);
    completion.answer(response);
    pass(true);
  }

  private void fail(ServingException failure) {
    finish(Optional.of(failure.failure()), failure.getMessage(), times(System.nanoTime()));
    completion.fail(failure);
    pass(false);
  }

  /** Lets the next request of the sequence begin. */
  private void pass(boolean isAnswered) {
    if (turn != null) {
      turn.end(isAnswered);
    }
  }

  private void finish(Optional<Failure> failure, String message, RequestTimes times) {
    execution = null;
    copies.close();
    if (turn == null && states != null) {
      states.close();
    }
    endUse.run();
    if (turn == null) {
      // A sequence holds it until its end.
      loaded.release();
    }
    version.counters().ended(failure, isRider ? starts - 1 : starts, times);
    announcer.ended(
        new EndedRequest(request, version.number(), failure, message, last, starts, times));
    end.ended(failure.isEmpty());
  }

  private RequestTimes times(long computed) {
    long now = System.nanoTime();
    long total = Math.max(0, now - request.arrivalNanos());
    if (starts == 0) {
      return new RequestTimes(total, total, 0, 0, 0);
    }
    long input = inputNanos;
    long infer = Math.clamp(inferNanos, 0, computed - startedNanos);
    long output = now - computed;
    return new RequestTimes(
        total, Math.max(0, total - input - infer - output), input, infer, output);
  }

  private ServingException fault(Throwable fault) {
    LOG.log(Level.ERROR, "a request for model '" + version.model() + "' met a fault", fault);
    return new ServingException(
        Failure.INTERNAL, "the server has a fault, see its log: " + fault, Optional.empty(), fault);
  }

  private static ServingException cancelled() {
    return new ServingException(Failure.CANCELLED, "the client has cancelled the request");
  }
}
