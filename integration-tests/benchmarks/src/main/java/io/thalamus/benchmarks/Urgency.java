// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import io.thalamus.benchmarks.engine.Engine;
import io.thalamus.model.Priority;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * The entry of {@code integration-tests/run urgency}: a small model is due at a steady rate while
 * threads keep the same engine busy with a large one. Idle and loaded windows of all engines take
 * turns in one process. Those that have priorities are given them.
 */
public final class Urgency {
  private static final String USAGE =
      """
      usage: integration-tests/run urgency [--option VALUE]...
        --pairs LIST     HIGH+LOW: networks, or models of the shared folder
                         (ds_cnn+mobilenet_v2,kws_dscnn_int8+mobilenet_v2_100_224_uint8)
        --engines LIST   (simd,onnxruntime,xnnpack)
        --threads N      that compute one execution (2)
        --clients N      threads that execute the large one (8)
        --every N        milliseconds from one small one to the next (20)
        --windows N      of each kind (5)
        --millis N       of one window (3000)
        --folder DIR     where generated files are kept
      """;

  private static final double PER_MICRO = 1e3;
  private static final double PER_SECOND = 1e9;
  private static final double RARE = 0.99;

  private final Plan plan;
  private final List<String> table = new ArrayList<>();

  private Urgency(Plan plan) {
    this.plan = plan;
  }

  private record Plan(int threads, int clients, long everyNanos, int windows, long windowNanos) {}

  /**
   * Executions of one window in microseconds.
   *
   * @param late how long after it was due each was called: what the system let its thread wait
   * @param taken how long each call took
   */
  private record Window(Samples late, Samples taken) {}

  /** An engine with its sessions, and what was measured. */
  private record Contender(
      String name, Engine.Host host, Engine.Session high, List<Engine.Session> low, Times times)
      implements AutoCloseable {
    @Override
    public void close() {
      low.forEach(Engine.Session::close);
      high.close();
      host.close();
    }
  }

  private record Times(
      List<Window> idle, List<Window> loaded, List<Double> alone, List<Double> beside) {
    Times() {
      this(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    }
  }

  /** Runs the comparison; status 2 for a wrong option. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i], arguments[i + 1]);
    }
    String folder = System.getProperty("thalamus.root") + "/integration-tests/benchmarks/target";
    Path networks = Path.of(take(options, "--folder", folder + "/networks"));
    String[] pairs =
        take(options, "--pairs", "ds_cnn+mobilenet_v2,kws_dscnn_int8+mobilenet_v2_100_224_uint8")
            .split(",");
    List<Engine> engines = new ArrayList<>();
    for (String name : take(options, "--engines", "simd,onnxruntime,xnnpack").split(",")) {
      Engine.find(name).ifPresentOrElse(engines::add, () -> options.put("engine " + name, ""));
    }
    Plan plan =
        new Plan(
            Integer.parseInt(take(options, "--threads", "2")),
            Integer.parseInt(take(options, "--clients", "8")),
            Long.parseLong(take(options, "--every", "20")) * 1_000_000,
            Integer.parseInt(take(options, "--windows", "5")),
            Long.parseLong(take(options, "--millis", "3000")) * 1_000_000);
    if (!options.isEmpty() || arguments.length % 2 != 0) {
      System.err.println("unknown: " + String.join(" ", options.keySet()));
      System.err.print(USAGE);
      System.exit(2);
    }
    Files.createDirectories(networks);
    Urgency urgency = new Urgency(plan);
    for (String pair : pairs) {
      String[] names = pair.split("\\+", 2);
      urgency.contest(
          pair, Subject.of(names[0], networks), Subject.of(names[1], networks), engines);
    }
    System.out.println();
    System.out.printf(
        Locale.ROOT,
        "%-16s %-43s %s%n",
        "engine",
        "models",
        "idle p50, p99 us; loaded p50, p99 us; ratio; late p99 us; LOW alone, beside per s");
    urgency.table.forEach(System.out::println);
    System.exit(0); // natives may have left threads behind
  }

  private static String take(Map<String, String> options, String name, String otherwise) {
    String value = options.remove(name);
    return value == null ? otherwise : value;
  }

  private void contest(String pair, Subject high, Subject low, List<Engine> engines)
      throws Exception {
    List<Contender> contenders = new ArrayList<>();
    try {
      for (Engine engine : engines) {
        if (high.files().containsKey(engine.format()) && low.files().containsKey(engine.format())) {
          contenders.add(open(engine, high, low));
        } else {
          figure(engine.name() + "." + pair, "left out: no " + engine.format() + " file");
        }
      }
      for (int window = -1; window < plan.windows(); window++) {
        for (Contender contender : contenders) {
          // The first turn of each is for its compilers.
          turn(contender, window < 0 ? new Times() : contender.times());
        }
      }
      contenders.forEach(contender -> tell(pair, contender));
    } finally {
      contenders.forEach(Contender::close);
    }
  }

  private Contender open(Engine engine, Subject high, Subject low) throws Exception {
    Engine.Host host = engine.start(plan.threads());
    Engine.Session urgent = open(host, engine, high, Priority.HIGH);
    List<Engine.Session> others = new ArrayList<>();
    for (int i = 0; i < plan.clients(); i++) {
      others.add(open(host, engine, low, Priority.LOW));
    }
    return new Contender(engine.name(), host, urgent, others, new Times());
  }

  private static Engine.Session open(
      Engine.Host host, Engine engine, Subject subject, Priority priority) throws Exception {
    List<byte[]> inputs = new ArrayList<>();
    for (Path file : subject.inputs().get(engine.format())) {
      inputs.add(Files.readAllBytes(file));
    }
    return host.open(subject.files().get(engine.format()), inputs, priority);
  }

  private void turn(Contender contender, Times times) throws Exception {
    times.idle().add(due(contender.high()));
    times.alone().add(saturate(contender, () -> Thread.sleep(plan.windowNanos() / 1_000_000)));
    times.beside().add(saturate(contender, () -> times.loaded().add(due(contender.high()))));
  }

  private Window due(Engine.Session session) throws Exception {
    List<Double> late = new ArrayList<>();
    List<Double> taken = new ArrayList<>();
    long start = System.nanoTime();
    for (long due = start; due - start < plan.windowNanos(); due += plan.everyNanos()) {
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      long begin = System.nanoTime();
      session.run();
      taken.add((System.nanoTime() - begin) / PER_MICRO);
      late.add((begin - due) / PER_MICRO);
    }
    return new Window(Samples.of(late), Samples.of(taken));
  }

  /** Work during which others keep the engine busy. */
  @FunctionalInterface
  private interface Work {
    void run() throws Exception;
  }

  /** Returns how many executions a second the clients did meanwhile. */
  private static double saturate(Contender contender, Work meanwhile) throws Exception {
    LongAdder done = new LongAdder();
    AtomicReference<Exception> failure = new AtomicReference<>();
    Clients clients = new Clients();
    long start = System.nanoTime();
    for (Engine.Session session : contender.low()) {
      clients.repeat(session, done, failure);
    }
    try {
      meanwhile.run();
      return done.sum() * PER_SECOND / (System.nanoTime() - start);
    } finally {
      clients.end();
      if (failure.get() != null) {
        throw new IllegalStateException(contender.name() + " failed", failure.get());
      }
    }
  }

  /** Threads that execute until they are ended. Used by one thread. */
  private static final class Clients {
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;

    void repeat(Engine.Session session, LongAdder done, AtomicReference<Exception> failure) {
      threads.add(
          Thread.ofPlatform()
              .name("urgency-" + threads.size())
              .start(
                  () -> {
                    try {
                      while (!isOver) {
                        session.run();
                        done.increment();
                      }
                    } catch (Exception e) {
                      failure.set(e);
                    }
                  }));
    }

    void end() throws InterruptedException {
      isOver = true;
      for (Thread thread : threads) {
        thread.join();
      }
    }
  }

  private void tell(String pair, Contender contender) {
    Times times = contender.times();
    String key = contender.name() + "." + pair + ".";
    double idle = typical(times.idle(), Window::taken, RARE);
    double loaded = typical(times.loaded(), Window::taken, RARE);
    double late = typical(times.loaded(), Window::late, RARE);
    double alone = Samples.of(times.alone()).median();
    double beside = Samples.of(times.beside()).median();
    figure(key + "samplesPerWindow", times.idle().getFirst().taken().sorted().length);
    figure(key + "idle.p99Micros", decimal(idle));
    figure(key + "loaded.p99Micros", decimal(loaded));
    figure(key + "loadedOverIdle", decimal(loaded / idle));
    figure(key + "low.keptOfAlone", decimal(beside / alone));
    table.add(
        String.format(
            Locale.ROOT,
            "%-16s %-43s %7.0f %7.0f; %7.0f %7.0f; %6.2f; %7.0f; %6.1f %6.1f",
            contender.name(),
            pair,
            typical(times.idle(), Window::taken, 0.5),
            idle,
            typical(times.loaded(), Window::taken, 0.5),
            loaded,
            loaded / idle,
            late,
            alone,
            beside));
  }

  /** Returns the median over windows of a quantile in each. */
  private static double typical(
      List<Window> windows, Function<Window, Samples> samples, double share) {
    return Samples.of(windows.stream().map(w -> samples.apply(w).quantile(share)).toList())
        .median();
  }

  private static void figure(String name, Object value) {
    System.out.println(name + " = " + value);
  }

  private static String decimal(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }
}
