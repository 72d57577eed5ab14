// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingListener;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** The requests of the last minute, second by second, and the last executions. Thread-safe. */
@Component(service = {ServingListener.class, Activity.class})
public final class Activity implements ServingListener {
  /** The seconds that are kept. */
  static final int SECONDS = 60;

  /** Classes of times: eight for each factor of ten, from 10 µs to 100 s. */
  static final int CLASSES = 56;

  private static final double CLASSES_OF_TEN = 8;
  private static final double LEAST_NANOS = 1e4;
  private static final int EXECUTIONS = 64;

  private final LongSupplier nanos;
  private final Second[] seconds = new Second[SECONDS];
  private final Deque<Execution> executions = new ArrayDeque<>();

  /** Called by the component runtime. */
  @Activate
  public Activity() {
    this(System::nanoTime);
  }

  /** The activity by a clock. */
  Activity(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** The requests that ended within a second. */
  private static final class Second {
    final long number;
    final int[] classes = new int[CLASSES];
    int answered;
    int failed;

    Second(long number) {
      this.number = number;
    }
  }

  /**
   * The requests that ended within the last minute.
   *
   * @param answered by second, the current one last
   * @param failed likewise
   * @param classes answered requests by the class of their time
   */
  record Minute(int[] answered, int[] failed, long[] classes) {
    /** Returns the time that a part of the answered requests kept to; 0 without any. */
    double quantileNanos(double part) {
      long all = 0;
      for (long each : classes) {
        all += each;
      }
      long rank = (long) Math.ceil(part * all);
      long sum = 0;
      for (int i = 0; i < classes.length && all > 0; i++) {
        sum += classes[i];
        if (sum >= rank) {
          return upperNanos(i);
        }
      }
      return 0;
    }
  }

  /**
   * An execution that has ended.
   *
   * @param model with its version
   * @param steps in order, failed attempts included
   * @param endNanos the end of the last step, by the clock
   */
  record Execution(String model, List<StepReport> steps, boolean isAnswered, long endNanos) {
    /** Returns the time of all steps. */
    long nanos() {
      return steps.stream().mapToLong(step -> step.duration().toNanos()).sum();
    }
  }

  /** Returns the upper end of a class. */
  static double upperNanos(int index) {
    return LEAST_NANOS * Math.pow(10, (index + 1) / CLASSES_OF_TEN);
  }

  static int classOf(long nanos) {
    double index = Math.log10(Math.max(1, nanos / LEAST_NANOS)) * CLASSES_OF_TEN;
    return (int) Math.min(CLASSES - 1, index);
  }

  @Override
  public void ended(EndedRequest request) {
    List<StepReport> steps = request.report().map(ExecutionReport::steps).orElse(List.of());
    boolean isAnswered = request.failure().isEmpty();
    if (request.failure().equals(Optional.of(Failure.CANCELLED))) {
      return;
    }
    long now = nanos.getAsLong();
    synchronized (this) {
      Second second = second(TimeUnit.NANOSECONDS.toSeconds(now));
      if (isAnswered) {
        second.answered++;
        second.classes[classOf(request.times().total())]++;
      } else {
        second.failed++;
      }
      if (!steps.isEmpty()) {
        if (executions.size() == EXECUTIONS) {
          executions.removeFirst();
        }
        String model = request.request().model() + " " + request.version();
        executions.addLast(
            new Execution(model, steps, isAnswered, now - request.times().computeOutput()));
      }
    }
  }

  private Second second(long number) {
    int place = Math.floorMod(number, SECONDS);
    if (seconds[place] == null || seconds[place].number != number) {
      seconds[place] = new Second(number);
    }
    return seconds[place];
  }

  /** Returns what ended within the last minute. */
  synchronized Minute minute() {
    long now = TimeUnit.NANOSECONDS.toSeconds(nanos.getAsLong());
    int[] answered = new int[SECONDS];
    int[] failed = new int[SECONDS];
    long[] classes = new long[CLASSES];
    for (Second second : seconds) {
      long age = second == null ? SECONDS : now - second.number;
      if (age >= 0 && age < SECONDS) {
        answered[SECONDS - 1 - (int) age] = second.answered;
        failed[SECONDS - 1 - (int) age] = second.failed;
        for (int i = 0; i < CLASSES; i++) {
          classes[i] += second.classes[i];
        }
      }
    }
    return new Minute(answered, failed, classes);
  }

  /** Returns the last executions, the newest first. */
  synchronized List<Execution> executions() {
    return new ArrayList<>(executions).reversed();
  }
}
