// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

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
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Waves of submissions come at three times the capacity of a device, by two applications, their
 * clients and priorities, synchronous and asynchronous, some with a deadline. A refused client
 * waits for as long as the refusal says and starts the same execution again. Each try must be
 * answered once, each refusal must say when to try again, everybody must be served in the end, and
 * the runtime must hold no more between waves than after the first.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=admission")
public final class AdmissionProof extends FrameworkProof {
  /** The most of one application and priority that wait: users are informed. */
  private static final int PROMISED = 4_096;

  /** The most executions that are in one of the threads, or about to be counted. */
  private static final int ON_THE_WAY = 64;

  private static final int ELEMENTS = 16_384;
  private static final Shape SHAPE = Shape.of(1, ELEMENTS);
  private static final int INPUTS = 8;

  private static final int TRIES = 1_000;
  private static final int WITH_DEADLINE = 16;
  private static final int LONGEST_DEADLINE_MILLIS = 400;
  private static final int SHOWN = 3;
  private static final long SLACK_BYTES = 2 << 20;
  private static final int REPORTS = 20;
  private static final Duration CALIBRATION = Duration.ofSeconds(2);

  /** The most waves before those that count. */
  private static final int MOST_FIRST_WAVES = 8;

  private static final int CALLERS = 8;

  private final BundleContext context;
  private final NeuralNetworks networks;

  @Activate
  public AdmissionProof(BundleContext context, @Reference NeuralNetworks networks) {
    this.context = context;
    this.networks = networks;
  }

  /** The common properties of a compilation's executions. */
  private record Lane(String name, Compilation compilation, boolean isAsync) {
    /** A sum of whole numbers, exact in any order. */
    static Model model() {
      SubgraphBuilder graph = new SubgraphBuilder();
      int x = graph.input("x", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
      int sum = graph.output("sum", OperandCode.TENSOR_FLOAT32, Shape.of(1), Quantization.NONE);
      graph.operation(
          OperationCode.REDUCE_SUM,
          List.of(x, graph.int32Vector(1), graph.bool(false)),
          List.of(sum));
      return Model.of(graph.build());
    }

    Execution execution(Room room, int request) {
      return compilation
          .createExecution()
          .setInput(0, room.inputs()[request % INPUTS])
          .setOutput(0, room.sum(request));
    }
  }

  /**
   * The inputs and outputs of executions, off the heap: nothing is copied while many wait.
   *
   * @param sums of all requests of a wave
   */
  private record Room(MemorySegment[] inputs, MemorySegment sums) {
    static Room of(Arena arena, int wave) {
      MemorySegment[] inputs = new MemorySegment[INPUTS];
      for (int i = 0; i < INPUTS; i++) {
        float[] values = new float[ELEMENTS];
        Arrays.fill(values, i + 1);
        inputs[i] = arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
      }
      return new Room(inputs, arena.allocate(ValueLayout.JAVA_FLOAT, wave));
    }

    MemorySegment sum(int request) {
      return sums.asSlice(request * (long) Float.BYTES, Float.BYTES);
    }

    /**
     * Returns true if the sum is right; it is another one for the next request that writes here.
     */
    boolean isRight(int request) {
      float sum = sums.getAtIndex(ValueLayout.JAVA_FLOAT, request);
      sums.setAtIndex(ValueLayout.JAVA_FLOAT, request, Float.NaN);
      return sum == ELEMENTS * (1 + request % INPUTS);
    }
  }

  /** The outcomes of all tries. */
  private static final class Outcomes {
    final LongAdder tries = new LongAdder();
    final LongAdder answers = new LongAdder();
    final LongAdder wrong = new LongAdder();
    final LongAdder missed = new LongAdder();
    final LongAdder missedAgain = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder unserved = new LongAdder();
    final LongAdder withoutTime = new LongAdder();
    final Map<String, LongAdder> others = new ConcurrentSkipListMap<>();
    final Map<Integer, LongAdder> servedAtTry = new ConcurrentSkipListMap<>();

    /** The asynchronous ones that are not answered. */
    final Map<String, AtomicInteger> open = new ConcurrentSkipListMap<>();

    final Map<String, AtomicInteger> mostOpen = new ConcurrentSkipListMap<>();

    long served(int from) {
      return servedAtTry.entrySet().stream()
          .filter(entry -> entry.getKey() >= from)
          .mapToLong(entry -> entry.getValue().sum())
          .sum();
    }
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String device = settings.text("device", "cpu");
    long submissions = settings.number("submissions", 1_000_000);
    int wave = Math.toIntExact(settings.number("wave", 24_000));
    long overload = settings.number("overload", 3);
    long seed = settings.number("seed", 1);
    settings.end();
    figures.figure("seed", seed);
    // The entrance of another bundle is that of another application.
    BundleContext shell =
        new Bundles(context).find("io.thalamus.shell").orElseThrow().getBundleContext();
    ServiceReference<NeuralNetworks> other = shell.getServiceReference(NeuralNetworks.class);
    NeuralNetworks theirs = shell.getService(other);
    List<Lane> lanes = new ArrayList<>();
    try (Arena arena = Arena.ofShared();
        ExecutorService callers = Executors.newCachedThreadPool()) {
      lane(lanes, device, networks, "one", Priority.HIGH, true);
      lane(lanes, device, networks, "one", Priority.LOW, true);
      lane(lanes, device, theirs, "two", Priority.MEDIUM, true);
      lane(lanes, device, theirs, "three", Priority.LOW, true);
      // Each of its callers has a thread, so that one of these is enough.
      lane(lanes, device, theirs, "three", Priority.MEDIUM, false);
      Course course =
          new Course(
              lanes, Room.of(arena, wave), callers, wave, overload, new SplittableRandom(seed));
      prove(course, submissions, figures);
    } finally {
      lanes.forEach(lane -> lane.compilation().close());
      shell.ungetService(other);
    }
  }

  private static void lane(
      List<Lane> lanes,
      String device,
      NeuralNetworks application,
      String client,
      Priority priority,
      boolean isAsync)
      throws NeuralNetworksException {
    CompilationOptions options =
        CompilationOptions.DEFAULT.withDevices(List.of(device)).with(priority).withClient(client);
    lanes.add(
        new Lane(
            (isAsync ? "async." : "sync.") + client + "." + priority,
            application.compile(Lane.model(), options),
            isAsync));
  }

  /** The course of all waves. */
  private record Course(
      List<Lane> lanes,
      Room room,
      Executor callers,
      int wave,
      long overload,
      SplittableRandom random) {}

  private static void prove(Course course, long submissions, Figures figures) throws Exception {
    double capacity = capacity(course);
    figures.decimal("capacityPerSecond", capacity);
    // What is allocated once for all is allocated by the first wave. A device whose code was not
    // compiled yet does more soon: its capacity is known once a wave offers more than it does.
    Rates first;
    int firstWaves = 0;
    do {
      first = wave(course, course.wave(), capacity, new Outcomes());
      capacity = Math.max(capacity, first.servedPerSecond());
      firstWaves++;
    } while (first.offeredPerSecond() < 2 * first.servedPerSecond()
        && firstWaves < MOST_FIRST_WAVES);
    Held before = Held.now();
    Outcomes outcomes = new Outcomes();
    long start = System.nanoTime();
    double offered = 0;
    long waves = 0;
    long told = 0;
    Held most = before;
    for (long left = submissions; left > 0; left -= course.wave()) {
      Rates rates = wave(course, (int) Math.min(course.wave(), left), capacity, outcomes);
      offered += rates.offeredPerSecond() / rates.servedPerSecond();
      // On a machine that does other things too, it may be more than was measured at first.
      capacity = Math.max(capacity, rates.servedPerSecond());
      waves++;
      long done = submissions - Math.max(0, left - course.wave());
      if ((done - told) * REPORTS >= submissions) {
        told = done;
        most = most.orMore(progress(done, outcomes, start, figures));
      }
    }
    figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
    Held after = Held.now();
    most = most.orMore(after);
    figures.decimal("capacityPerSecond.most", capacity);
    figures.decimal("offeredOverServed", offered / waves);
    tell(submissions, outcomes, figures);
    figures.figure("held.before", before);
    figures.figure("held.after", after);
    figures.figure("held.most", most);
    figures.promise(
        "the heap is never larger between waves",
        most.heapBytes() - before.heapBytes() <= SLACK_BYTES);
    figures.promise(
        "native memory is never larger between waves",
        most.nativeBytes() - before.nativeBytes() <= SLACK_BYTES);
  }

  /** Tells how far it is, and returns what is held now that nothing runs. */
  private static Held progress(long done, Outcomes outcomes, long start, Figures figures)
      throws Exception {
    Held held = Held.now();
    figures.figure(
        "progress." + done,
        "%.0f s, %d served, %d refusals, %s"
            .formatted(
                (System.nanoTime() - start) / 1e9,
                outcomes.served(1),
                outcomes.refused.sum(),
                held));
    return held;
  }

  private static void tell(long submissions, Outcomes outcomes, Figures figures) {
    long served = outcomes.served(1);
    long again = outcomes.served(2);
    figures.figure("submissions", submissions);
    figures.figure("tries", outcomes.tries);
    figures.figure("answers", outcomes.answers);
    figures.figure("served", served);
    figures.figure("missedDeadlines", outcomes.missed);
    for (int number = 1; number <= SHOWN; number++) {
      long count = outcomes.servedAtTry.getOrDefault(number, new LongAdder()).sum();
      figures.decimal("servedAtTry." + number + ".share", share(count, served));
    }
    figures.figure("servedAtTry", outcomes.servedAtTry);
    // Those that came back when they were asked to, and what came of it.
    long returns = outcomes.tries.sum() - submissions;
    figures.figure("returns", returns);
    figures.decimal("returns.servedShare", share(again, returns));
    figures.decimal("returns.missedShare", share(outcomes.missedAgain.sum(), returns));
    figures.decimal(
        "returns.refusedShare",
        share(outcomes.refused.sum() - firstRefused(submissions, outcomes), returns));
    outcomes.mostOpen.forEach((lane, most) -> figures.figure("mostOpen." + lane, most));
    figures.figure("wrong", outcomes.wrong);
    figures.figure("others", outcomes.others);
    figures.promise("each try is answered once", outcomes.tries.sum() == outcomes.answers.sum());
    figures.promise(
        "each submission ends once",
        served + outcomes.missed.sum() + outcomes.unserved.sum() == submissions);
    figures.promise("everybody is served in the end", outcomes.unserved.sum() == 0);
    figures.promise("some were refused, or nothing is proved", again > 0);
    figures.promise("no result is wrong", outcomes.wrong.sum() == 0);
    figures.promise(
        "each refusal is RESOURCE_EXHAUSTED_TRANSIENT or a missed deadline",
        outcomes.others.isEmpty());
    figures.promise("each refusal says when to try again", outcomes.withoutTime.sum() == 0);
    figures.promise(
        "queues of asynchronous ones are bounded",
        outcomes.mostOpen.values().stream().allMatch(most -> most.get() <= PROMISED + ON_THE_WAY));
  }

  private static double share(long part, long all) {
    return part / (double) Math.max(1, all);
  }

  /** Returns how many were refused at their first try. */
  private static long firstRefused(long submissions, Outcomes outcomes) {
    long served = outcomes.served(1) - outcomes.served(2);
    return submissions - served - (outcomes.missed.sum() - outcomes.missedAgain.sum());
  }

  /** Returns how many executions a second the device does for a few callers. */
  private static double capacity(Course course) throws InterruptedException {
    LongAdder done = new LongAdder();
    long end = System.nanoTime() + CALIBRATION.toNanos();
    long half = end - CALIBRATION.toNanos() / 2;
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      int request = i;
      Lane lane = course.lanes().get(i % course.lanes().size());
      threads.add(
          Thread.ofPlatform()
              .name("proof-admission-" + i)
              .start(
                  () -> {
                    for (long now = System.nanoTime(); now - end < 0; now = System.nanoTime()) {
                      lane.execution(course.room(), request).compute();
                      if (now - half > 0) {
                        done.increment();
                      }
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    return done.sum() * 2e9 / CALIBRATION.toNanos();
  }

  /** The rates of a wave: executions that came each second, and that were answered. */
  private record Rates(double offeredPerSecond, double servedPerSecond) {}

  /** Submits a wave and waits until each of it is answered. */
  private static Rates wave(Course course, int count, double capacity, Outcomes outcomes)
      throws InterruptedException {
    CountDownLatch over = new CountDownLatch(count);
    SplittableRandom random = course.random();
    long period = Math.round(1e9 / (course.overload() * capacity));
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      long due = start + i * period;
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      Duration timeout =
          random.nextInt(WITH_DEADLINE) == 0
              ? Duration.ofMillis(1 + random.nextInt(LONGEST_DEADLINE_MILLIS))
              : null;
      Lane lane = course.lanes().get(random.nextInt(course.lanes().size()));
      Submission submission = new Submission(course, lane, i, timeout, outcomes, over);
      submission.begin();
    }
    double offered = count * 1e9 / (System.nanoTime() - start);
    over.await();
    return new Rates(offered, count * 1e9 / (System.nanoTime() - start));
  }

  /** One caller, who tries until it is served. */
  private static final class Submission {
    private final Course course;
    private final Lane lane;
    private final int request;
    private final Duration timeout;
    private final Outcomes outcomes;
    private final CountDownLatch over;

    /** The same at each try: room is promised to it. */
    private final Execution execution;

    private int tries;

    Submission(
        Course course,
        Lane lane,
        int request,
        Duration timeout,
        Outcomes outcomes,
        CountDownLatch over) {
      this.course = course;
      this.lane = lane;
      this.request = request;
      this.timeout = timeout;
      this.outcomes = outcomes;
      this.over = over;
      this.execution = lane.execution(course.room(), request);
      if (timeout != null) {
        execution.setTimeout(timeout);
      }
    }

    void begin() {
      if (lane.isAsync()) {
        submit();
      } else {
        course.callers().execute(this::submit);
      }
    }

    private void submit() {
      tries++;
      outcomes.tries.increment();
      if (lane.isAsync()) {
        CompletableFuture<ExecutionReport> future = execution.computeAsync();
        if (!future.isDone()) {
          AtomicInteger open = count(outcomes.open);
          count(outcomes.mostOpen).accumulateAndGet(open.incrementAndGet(), Math::max);
          future.whenComplete((report, failure) -> open.decrementAndGet());
        }
        future.whenComplete((report, failure) -> answered(report));
      } else {
        answered(execution.compute());
      }
    }

    private AtomicInteger count(Map<String, AtomicInteger> counts) {
      return counts.computeIfAbsent(lane.name(), name -> new AtomicInteger());
    }

    /** A report is null where a future was completed by an exception, which no code allows. */
    private void answered(ExecutionReport report) {
      outcomes.answers.increment();
      ResultCode code = report == null ? ResultCode.OP_FAILED : report.code();
      switch (code) {
        case NO_ERROR -> {
          if (!course.room().isRight(request)) {
            outcomes.wrong.increment();
          }
          outcomes.servedAtTry.computeIfAbsent(tries, number -> new LongAdder()).increment();
          over.countDown();
        }
        case RESOURCE_EXHAUSTED_TRANSIENT -> refused(report);
        case MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT -> {
          if (timeout == null) {
            other(report);
          }
          outcomes.missed.increment();
          if (tries > 1) {
            outcomes.missedAgain.increment();
          }
          over.countDown();
        }
        default -> {
          other(report);
          outcomes.unserved.increment();
          over.countDown();
        }
      }
    }

    private void other(ExecutionReport report) {
      String what = report == null ? "no report" : report.code() + " " + report.message();
      outcomes.others.computeIfAbsent(what, key -> new LongAdder()).increment();
    }

    private void refused(ExecutionReport report) {
      outcomes.refused.increment();
      if (report.retryAfter().filter(Duration::isPositive).isEmpty()) {
        outcomes.withoutTime.increment();
      }
      if (tries == TRIES) {
        outcomes.unserved.increment();
        over.countDown();
        return;
      }
      Duration wait = report.retryAfter().orElse(Duration.ofMillis(1));
      Thread.ofVirtual()
          .start(
              () -> {
                LockSupport.parkNanos(wait.toNanos());
                begin();
              });
    }
  }
}
