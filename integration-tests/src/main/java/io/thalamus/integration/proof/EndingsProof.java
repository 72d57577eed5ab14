// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Executions of two priorities in all four ways, of which some are cancelled, and whose bursts and
 * compilations are closed, at random moments: before they begin, while they wait, run or stand
 * back, and when they are done. Each must be answered, with a code that its end explains; each
 * result must be right; and nothing of them may be left.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=endings")
public final class EndingsProof extends FrameworkProof {
  private static final int CHAIN = 16;
  private static final int ELEMENTS = 16_384;
  private static final Shape SHAPE = Shape.of(1, ELEMENTS);
  private static final int EXECUTIONS = 8;
  private static final int WITH_DEADLINE = 4;
  private static final int WARM_UP = 20;
  private static final int REPORTS = 10;

  /** Longer than any execution takes: what is not answered by then hangs. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private static final long SLACK_BYTES = 2 << 20;
  private static final int SLACK_THREADS = 8;

  /** The codes that an execution may end with if it was cancelled, closed or short of time. */
  private static final Set<ResultCode> EXPLAINED =
      EnumSet.of(
          ResultCode.NO_ERROR,
          ResultCode.OP_FAILED,
          ResultCode.BAD_STATE,
          ResultCode.MISSED_DEADLINE_TRANSIENT,
          ResultCode.MISSED_DEADLINE_PERSISTENT,
          ResultCode.RESOURCE_EXHAUSTED_TRANSIENT);

  /** The ways of ending. */
  private enum Ending {
    CANCELLED,
    BURST_CLOSED,
    COMPILATION_CLOSED
  }

  private final NeuralNetworks networks;

  @Activate
  public EndingsProof(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  /** The outcomes of all. */
  private static final class Outcomes {
    final Map<Ending, Integer> endings = new EnumMap<>(Ending.class);
    final Map<String, Integer> answers = new TreeMap<>();
    final List<String> wrong = new ArrayList<>();
    int executions;
    int unanswered;

    void count(Ending ending) {
      endings.merge(ending, 1, Integer::sum);
    }

    long endings() {
      return endings.values().stream().mapToInt(Integer::intValue).sum();
    }
  }

  /** Doubles its input many times, with a checkpoint each time. */
  private static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int from = graph.input("x", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    for (int i = 1; i <= CHAIN; i++) {
      int to =
          i < CHAIN
              ? graph.temporary("t" + i, OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE)
              : graph.output("y", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
      graph.operation(OperationCode.ADD, List.of(from, from, graph.int32(0)), List.of(to));
      from = to;
    }
    return Model.of(graph.build());
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    List<String> devices = List.of(settings.text("devices", "cpu,simd").split(","));
    long endings = settings.number("endings", 10_000);
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    SplittableRandom random = new SplittableRandom(seed);
    Outcomes outcomes = new Outcomes();
    long start = System.nanoTime();
    Held before;
    Held after;
    try (ExecutorService callers = Executors.newCachedThreadPool()) {
      for (int i = 0; i < WARM_UP; i++) {
        round(devices.get(i % devices.size()), callers, random, new Outcomes());
      }
      before = Held.now();
      long told = 0;
      for (int i = 0; outcomes.endings() < endings && outcomes.unanswered == 0; i++) {
        round(devices.get(i % devices.size()), callers, random, outcomes);
        if ((outcomes.endings() - told) * REPORTS >= endings) {
          told = outcomes.endings();
          figures.figure("progress." + told, outcomes.executions + " executions");
        }
      }
      after = settled(before);
    }
    figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
    figures.figure("endings", outcomes.endings);
    figures.figure("executions", outcomes.executions);
    outcomes.answers.forEach((code, count) -> figures.figure("answers." + code, count));
    figures.figure("held.before", before);
    figures.figure("held.after", after);
    outcomes.wrong.stream().limit(REPORTS).forEach(wrong -> figures.figure("wrong", wrong));
    figures.promise("each execution is answered", outcomes.unanswered == 0);
    figures.promise("no result is wrong, no code unexplained", outcomes.wrong.isEmpty());
    figures.promise("there were as many endings", outcomes.endings() >= endings);
    figures.promise(
        "each kind of ending was tried", outcomes.endings.size() == Ending.values().length);
    figures.promise("the heap is back where it was", isBack(before.heapBytes(), after.heapBytes()));
    figures.promise(
        "native memory is back where it was", isBack(before.nativeBytes(), after.nativeBytes()));
    figures.promise("no thread is left", after.threads() <= before.threads() + SLACK_THREADS);
  }

  private static boolean isBack(long before, long after) {
    return after - before <= SLACK_BYTES;
  }

  /** Returns the held resources once cancelled executions have released theirs. */
  private static Held settled(Held before) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    Held held = Held.now();
    while (System.nanoTime() - end < 0
        && !(isBack(before.heapBytes(), held.heapBytes())
            && isBack(before.nativeBytes(), held.nativeBytes())
            && held.threads() <= before.threads() + SLACK_THREADS)) {
      Thread.sleep(Duration.ofMillis(200));
      held = Held.now();
    }
    return held;
  }

  /** An execution that was begun. */
  private record Begun(
      String what, CompletableFuture<ExecutionReport> future, MemorySegment output, float value) {
    boolean isRight() {
      float[] floats = output.toArray(ValueLayout.JAVA_FLOAT);
      for (float actual : floats) {
        if (actual != value * (1 << CHAIN)) {
          return false;
        }
      }
      return true;
    }
  }

  /** Something that is done at a moment. */
  private record Act(long nanos, Runnable act) {}

  private void round(
      String device, ExecutorService callers, SplittableRandom random, Outcomes outcomes)
      throws Exception {
    Compilation low = compile(device, Priority.LOW);
    Compilation high = compile(device, Priority.HIGH);
    List<Compilation> both = List.of(low, high);
    List<Burst> bursts =
        List.of(
            low.createBurst(BurstOptions.DEFAULT.withDepth(2)),
            high.createBurst(BurstOptions.DEFAULT.withDepth(2)));
    long usual = usual(low);
    List<Begun> begun = new ArrayList<>();
    List<Act> acts = new ArrayList<>();
    List<CompletableFuture<ExecutionReport>> events = new ArrayList<>();
    for (int i = 0; i < EXECUTIONS; i++) {
      int which = random.nextInt(2);
      Begun one = begin(both.get(which), bursts.get(which), callers, random, events);
      begun.add(one);
      if (!one.what().equals("sync") && !one.what().equals("burst") && random.nextBoolean()) {
        acts.add(
            new Act(
                random.nextLong(EXECUTIONS * usual),
                () -> {
                  outcomes.count(Ending.CANCELLED);
                  one.future().cancel(true);
                }));
      }
    }
    for (CompletableFuture<ExecutionReport> event : events) {
      acts.add(new Act(random.nextLong(EXECUTIONS * usual), () -> event.complete(report())));
    }
    for (int i = 0; i < both.size(); i++) {
      Burst burst = bursts.get(i);
      Compilation compilation = both.get(i);
      acts.add(closing(random, usual, Ending.BURST_CLOSED, burst::close, outcomes));
      acts.add(closing(random, usual, Ending.COMPILATION_CLOSED, compilation::close, outcomes));
    }
    act(acts);
    for (Begun one : begun) {
      check(one, outcomes);
    }
  }

  private static Act closing(
      SplittableRandom random, long usual, Ending ending, Runnable close, Outcomes outcomes) {
    return new Act(
        random.nextLong(2 * EXECUTIONS * usual),
        () -> {
          outcomes.count(ending);
          close.run();
        });
  }

  private static void act(List<Act> acts) {
    acts.sort((one, other) -> Long.compare(one.nanos(), other.nanos()));
    long start = System.nanoTime();
    for (Act act : acts) {
      long due = start + act.nanos();
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      act.act().run();
    }
  }

  private static ExecutionReport report() {
    return new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of());
  }

  private Compilation compile(String device, Priority priority) throws NeuralNetworksException {
    return networks.compile(
        model(), CompilationOptions.DEFAULT.withDevices(List.of(device)).with(priority));
  }

  private static Execution execution(Compilation compilation, float value, MemorySegment output) {
    float[] values = new float[ELEMENTS];
    Arrays.fill(values, value);
    return compilation
        .createExecution()
        .setInput(0, Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, values))
        .setOutput(0, output);
  }

  private static MemorySegment output() {
    return Arena.ofAuto().allocate(ValueLayout.JAVA_FLOAT, ELEMENTS);
  }

  /** Returns how long one takes that nobody ends. */
  private static long usual(Compilation compilation) {
    long start = System.nanoTime();
    execution(compilation, 1, output()).compute();
    return System.nanoTime() - start;
  }

  private static Begun begin(
      Compilation compilation,
      Burst burst,
      ExecutorService callers,
      SplittableRandom random,
      List<CompletableFuture<ExecutionReport>> events) {
    MemorySegment output = output();
    float value = 1 + random.nextInt(8);
    Execution execution = execution(compilation, value, output);
    if (random.nextInt(WITH_DEADLINE) == 0) {
      execution.setTimeout(Duration.ofMillis(1 + random.nextInt(20)));
    }
    return switch (random.nextInt(4)) {
      case 0 ->
          new Begun(
              "sync", CompletableFuture.supplyAsync(execution::compute, callers), output, value);
      case 1 ->
          new Begun(
              "burst",
              CompletableFuture.supplyAsync(() -> execution.burstCompute(burst), callers),
              output,
              value);
      case 2 -> new Begun("async", execution.computeAsync(), output, value);
      default -> {
        CompletableFuture<ExecutionReport> event = new CompletableFuture<>();
        events.add(event);
        yield new Begun(
            "fenced", execution.startComputeWithDependencies(List.of(event)), output, value);
      }
    };
  }

  private static void check(Begun one, Outcomes outcomes) throws InterruptedException {
    outcomes.executions++;
    String code;
    try {
      ExecutionReport report = one.future().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      code = report.code().name();
      if (!EXPLAINED.contains(report.code()) || (report.isSuccess() && !one.isRight())) {
        outcomes.wrong.add(one.what() + ": " + report.code() + " " + report.message());
      }
    } catch (CancellationException e) {
      code = "cancelled";
    } catch (TimeoutException e) {
      code = "none";
      outcomes.unanswered++;
    } catch (ExecutionException e) {
      code = "thrown";
      outcomes.wrong.add(one.what() + " has thrown " + e.getCause());
    }
    outcomes.answers.merge(one.what() + "." + code, 1, Integer::sum);
  }
}
