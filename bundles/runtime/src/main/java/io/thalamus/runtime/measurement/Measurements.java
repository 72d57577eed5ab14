// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.runtime.measurement.MeasuredTime.Key;
import io.thalamus.runtime.measurement.StepObservation.Part;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Clock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * Measured times of operations on the present devices. Thread-safe. Read from the storage directory
 * when first asked, written back by {@link #flush}.
 *
 * <p>Times are those of the caller's clock around a call of the device, since that is what an
 * application waits for: not what an accelerator says of its own hardware, which leaves out the way
 * there and back, and is no time at all where the hardware is simulated.
 */
@Component(service = Measurements.class)
public final class Measurements implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Measurements.class.getPackageName());

  /** The assumed cost of a step when nothing was measured: a call, or one in another thread. */
  private static final double USUAL_CALL_NANOS = 8_000;

  private static final double USUAL_GUARDED_CALL_NANOS = 60_000;

  /** About 10 GB/s: a byte is written by one device and read by another. */
  private static final double USUAL_BYTE_NANOS = 0.1;

  private static final double SHORTEST_NANOS = 50;

  private final TimeTable table;
  private final Clock clock;
  private final Object lock = new Object();
  private final Map<Key, MeasuredTime> times = new HashMap<>();
  private final Map<Key, MeasuredTime> unsaved = new HashMap<>();
  private boolean loaded;

  /** Kept below the storage directory of the framework, where it has one. */
  @Activate
  public Measurements(BundleContext context) {
    this(
        context.getProperty("thalamus.storage") == null
            ? null
            : Path.of(context.getProperty("thalamus.storage"), "measurements"),
        Clock.systemUTC());
  }

  /** Kept in this directory; null for nowhere. */
  public Measurements(Path directory, Clock clock) {
    String machine =
        System.getProperty("os.arch") + " " + Runtime.getRuntime().availableProcessors();
    this.table = directory == null ? null : new TimeTable(directory, machine);
    this.clock = clock;
    this.loaded = table == null;
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
    return find(info, Key.STEP)
        .orElse(info.type() == DeviceType.CPU ? USUAL_CALL_NANOS : USUAL_GUARDED_CALL_NANOS);
  }

  /** Returns the time of a device for a byte that crosses the boundary of a step. */
  public double byteNanos(DeviceInfo info) {
    return find(info, Key.BYTE).orElse(USUAL_BYTE_NANOS);
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
    OptionalDouble usual = find(info, Key.WHOLE + signature.get());
    OptionalDouble least = find(info, Key.LEAST + signature.get());
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
        load();
        put(info, Key.WHOLE + signature.get(), own.get().usualNanos());
        put(info, Key.LEAST + signature.get(), own.get().leastNanos());
      }
    }
  }

  private OptionalDouble find(DeviceInfo info, String what) {
    synchronized (lock) {
      load();
      MeasuredTime time = times.get(new Key(device(info), what));
      return time == null ? OptionalDouble.empty() : OptionalDouble.of(time.nanos());
    }
  }

  private void load() {
    if (loaded) {
      return;
    }
    loaded = true;
    try {
      times.putAll(table.read());
    } catch (IOException e) {
      LOG.log(
          Level.WARNING,
          "the measurements in {0} cannot be read, and are begun anew: {1}",
          table.file(),
          e.getMessage());
    }
  }

  private void put(DeviceInfo info, String what, double nanos) {
    Key key = new Key(device(info), what);
    MeasuredTime time = new MeasuredTime(nanos, clock.instant().getEpochSecond());
    times.put(key, time);
    unsaved.put(key, time);
  }

  /**
   * Learns from steps that ran: what one operation took alone is its time; what several took
   * together is shared out in proportion to what was expected of each.
   */
  public void learn(List<StepObservation> steps) {
    synchronized (lock) {
      load();
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
      load();
      if (apart.isEmpty()) {
        return;
      }
      DeviceInfo info = apart.getFirst().device();
      StepCosts costs = StepCosts.fit(apart, together, startNanos(info), byteNanos(info));
      put(info, Key.STEP, costs.stepNanos());
      put(info, Key.BYTE, costs.byteNanos());
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

  /** Writes what was learnt since the last time; what cannot be written is tried again. */
  public void flush() {
    Map<Key, MeasuredTime> own;
    synchronized (lock) {
      if (table == null || unsaved.isEmpty()) {
        return;
      }
      own = Map.copyOf(unsaved);
      unsaved.clear();
      try {
        Map<Key, MeasuredTime> all = table.merge(own);
        times.clear();
        times.putAll(all);
      } catch (IOException e) {
        unsaved.putAll(own);
        LOG.log(
            Level.WARNING, "measurements cannot be kept in {0}: {1}", table.file(), e.toString());
      }
    }
  }

  @Deactivate
  @Override
  public void close() {
    flush();
  }
}
