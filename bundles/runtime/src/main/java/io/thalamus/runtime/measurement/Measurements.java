// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.cache.CacheEngine;
import io.thalamus.memory.files.IoMessages;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.runtime.measurement.StepObservation.Part;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Clock;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * Measured times of operations on the present devices. Thread-safe. The times of a device are read
 * from the caching engine when they are first asked for, and written back by {@link #flush};
 * without an engine they last as long as this.
 *
 * <p>Times are those of the caller's clock around a call of the device, since that is what an
 * application waits for: not what an accelerator says of its own hardware, which leaves out the way
 * there and back, and is no time at all where the hardware is simulated.
 */
@Component(service = Measurements.class)
public final class Measurements implements AutoCloseable {
  /** The assumed cost of a step when nothing was measured: a call, or one in another thread. */
  private static final double USUAL_CALL_NANOS = 8_000;

  private static final double USUAL_GUARDED_CALL_NANOS = 60_000;

  /** About 10 GB/s: a byte is written by one device and read by another. */
  private static final double USUAL_BYTE_NANOS = 0.1;

  private static final double SHORTEST_NANOS = 50;

  private final Clock clock;
  private final Object lock = new Object();

  /** The times of each device by their subjects; of devices that were asked for. */
  private final Map<String, Map<String, MeasuredTime>> times = new HashMap<>();

  /** The devices of which something was learnt since it was written last. */
  private final Set<String> unsaved = new HashSet<>();

  private Optional<TimeTable> table = Optional.empty();

  @Activate
  public Measurements() {
    this(null, Clock.systemUTC());
  }

  /**
   * Measurements by a clock.
   *
   * @param engine keeps them; null for nowhere
   */
  public Measurements(CacheEngine engine, Clock clock) {
    this.clock = clock;
    if (engine != null) {
      bindEngine(engine);
    }
  }

  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  void bindEngine(CacheEngine engine) {
    String machine =
        System.getProperty("os.arch") + " " + Runtime.getRuntime().availableProcessors();
    synchronized (lock) {
      TimeTable stored = new TimeTable(engine, machine);
      table = Optional.of(stored);
      times.forEach((device, own) -> stored.read(device).forEach(own::putIfAbsent));
    }
  }

  void unbindEngine(CacheEngine engine) {
    synchronized (lock) {
      if (table.isPresent() && table.get().isKeptBy(engine)) {
        flush();
        table = Optional.empty();
      }
    }
  }

  private static String device(DeviceInfo info) {
    return info.name() + " " + info.version();
  }

  /** The time of an operation with this signature on a device, without what its step costs. */
  public OptionalDouble nanos(DeviceInfo info, String signature) {
    return find(info, signature);
  }

  /** Returns the fixed time of a step on a device. */
  public double startNanos(DeviceInfo info) {
    return find(info, MeasuredTime.STEP)
        .orElse(info.type() == DeviceType.CPU ? USUAL_CALL_NANOS : USUAL_GUARDED_CALL_NANOS);
  }

  /** Returns the time of a device for a byte that crosses the boundary of a step. */
  public double byteNanos(DeviceInfo info) {
    return find(info, MeasuredTime.BYTE).orElse(USUAL_BYTE_NANOS);
  }

  /**
   * Returns the time of a step that was measured as a whole, in whatever compilation.
   *
   * @param step the model of the step
   * @param preference for which it was prepared, since a device may be slower to save power
   */
  public Optional<StepTime> stepTime(DeviceInfo info, Model step, ExecutionPreference preference) {
    Optional<String> signature = OperationSignature.of(step).map(text -> preference + ":" + text);
    if (signature.isEmpty()) {
      return Optional.empty();
    }
    OptionalDouble usual = find(info, MeasuredTime.WHOLE + signature.get());
    OptionalDouble least = find(info, MeasuredTime.LEAST + signature.get());
    return usual.isEmpty() || least.isEmpty()
        ? Optional.empty()
        : Optional.of(new StepTime(usual.getAsDouble(), least.getAsDouble()));
  }

  /**
   * Learns the time of a step as a whole, once there were executions enough to go by.
   *
   * @param step the model of the step
   * @param preference for which it was prepared, since a device may be slower to save power
   */
  public void learn(DeviceInfo info, Model step, ExecutionPreference preference, StepTimes times) {
    Optional<String> signature = OperationSignature.of(step).map(text -> preference + ":" + text);
    Optional<StepTime> own = times.own();
    if (signature.isPresent() && own.isPresent()) {
      synchronized (lock) {
        put(info, MeasuredTime.WHOLE + signature.get(), own.get().usualNanos());
        put(info, MeasuredTime.LEAST + signature.get(), own.get().leastNanos());
      }
    }
  }

  private OptionalDouble find(DeviceInfo info, String what) {
    synchronized (lock) {
      MeasuredTime time = of(device(info)).get(what);
      return time == null ? OptionalDouble.empty() : OptionalDouble.of(time.nanos());
    }
  }

  private Map<String, MeasuredTime> of(String device) {
    return times.computeIfAbsent(
        device, name -> table.map(stored -> stored.read(name)).orElseGet(HashMap::new));
  }

  private void put(DeviceInfo info, String what, double nanos) {
    of(device(info)).put(what, new MeasuredTime(nanos, clock.instant().getEpochSecond()));
    unsaved.add(device(info));
  }

  /**
   * Learns from steps that ran: what one operation took alone is its time; what several took
   * together is shared out in proportion to what was expected of each.
   */
  public void learn(List<StepObservation> steps) {
    synchronized (lock) {
      for (StepObservation step : steps) {
        share(step);
      }
    }
  }

  /**
   * Learns from the same operations timed one by one and together, all on one device: what is lost
   * by taking them apart is what steps and their bytes cost it.
   */
  public void learn(List<StepObservation> apart, List<StepObservation> together) {
    synchronized (lock) {
      if (apart.isEmpty()) {
        return;
      }
      DeviceInfo info = apart.getFirst().device();
      StepCosts costs = StepCosts.fit(apart, together, startNanos(info), byteNanos(info));
      put(info, MeasuredTime.STEP, costs.stepNanos());
      put(info, MeasuredTime.BYTE, costs.byteNanos());
      for (StepObservation step : apart) {
        // What was known before came from coarser observations.
        put(info, step.operations().getFirst().signature(), without(step, costs.stepNanos()));
      }
      for (StepObservation step : together) {
        share(step);
      }
    }
  }

  private double without(StepObservation step, double start) {
    double rest = step.nanos() - start - step.bytes() * byteNanos(step.device());
    return Math.max(rest, SHORTEST_NANOS * step.operations().size());
  }

  private void share(StepObservation step) {
    DeviceInfo info = step.device();
    double expected = 0;
    for (Part part : step.operations()) {
      expected += known(info, part);
    }
    double factor = without(step, startNanos(info)) / expected;
    Map<String, Double> shares = new HashMap<>();
    for (Part part : step.operations()) {
      shares.put(part.signature(), known(info, part) * factor);
    }
    shares.forEach((signature, nanos) -> put(info, signature, nanos));
  }

  private double known(DeviceInfo info, Part part) {
    return Math.max(nanos(info, part.signature()).orElse(part.expected()), SHORTEST_NANOS);
  }

  /**
   * Writes what was learnt since the last time, and takes over what other processes wrote. If it
   * cannot be written, the next time tries again.
   */
  public void flush() {
    synchronized (lock) {
      if (table.isEmpty()) {
        return;
      }
      for (String device : Set.copyOf(unsaved)) {
        try {
          times.put(device, table.get().merge(device, of(device)));
          unsaved.remove(device);
        } catch (IOException e) {
          // A command that is ended is no trouble with the files: the next time stores them.
          boolean isEnded = Thread.currentThread().isInterrupted();
          System.getLogger(Measurements.class.getPackageName())
              .log(
                  isEnded ? Level.DEBUG : Level.WARNING,
                  "measurements of {0} cannot be stored: {1}",
                  device,
                  IoMessages.reason(e));
        }
      }
    }
  }

  @Deactivate
  @Override
  public void close() {
    flush();
  }
}
