// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/**
 * The patience of the runtime with devices, and the limits of quarantine. A change counts at once.
 */
@ObjectClassDefinition(
    name = "Thalamus device watch",
    description = "How long devices may take, and what happens to those that fail")
@Retention(RetentionPolicy.RUNTIME)
public @interface DeviceSettings {
  long DRAIN_MILLIS = 5_000;
  long EXECUTION_FLOOR_MILLIS = 3_000;
  int EXECUTION_FACTOR = 10;
  long FIRST_EXECUTION_MILLIS = 30_000;
  long PREPARE_MILLIS = 60_000;
  long ANSWER_MILLIS = 10_000;
  int FAILURES = 5;
  long WINDOW_MILLIS = 30_000;
  long QUARANTINE_MILLIS = 1_000;
  long LONGEST_QUARANTINE_MILLIS = 600_000;
  int CPU_PERMITS = 0;
  int PERMITS = 2;
  int WAITING = 1_024;
  double SAMPLING_RATE = 0;

  @AttributeDefinition(
      name = "Drain time",
      description = "Milliseconds that a departing device has to finish its running calls",
      min = "0")
  long drainMillis() default DRAIN_MILLIS;

  @AttributeDefinition(
      name = "Shortest execution limit",
      description = "Milliseconds before which no execution counts as hung",
      min = "1")
  long executionFloorMillis() default EXECUTION_FLOOR_MILLIS;

  @AttributeDefinition(
      name = "Execution factor",
      description = "An execution hangs after so many times the longest one measured",
      min = "1")
  int executionFactor() default EXECUTION_FACTOR;

  @AttributeDefinition(
      name = "First execution limit",
      description = "Milliseconds that the first execution of a step may take",
      min = "1")
  long firstExecutionMillis() default FIRST_EXECUTION_MILLIS;

  @AttributeDefinition(
      name = "Prepare limit",
      description = "Milliseconds before which no compilation for a device counts as hung",
      min = "1")
  long prepareMillis() default PREPARE_MILLIS;

  @AttributeDefinition(
      name = "Answer limit",
      description = "Milliseconds that a device may take to tell facts and promises, and to close",
      min = "1")
  long answerMillis() default ANSWER_MILLIS;

  @AttributeDefinition(
      name = "Failures",
      description = "So many failed calls within the window put a device into quarantine",
      min = "1")
  int failures() default FAILURES;

  @AttributeDefinition(
      name = "Window",
      description = "Milliseconds in which failures count together",
      min = "1")
  long windowMillis() default WINDOW_MILLIS;

  @AttributeDefinition(
      name = "First quarantine",
      description = "Milliseconds of the first quarantine; each next one doubles it",
      min = "1")
  long quarantineMillis() default QUARANTINE_MILLIS;

  @AttributeDefinition(
      name = "Longest quarantine",
      description = "Milliseconds that a quarantine lasts at most",
      min = "1")
  long longestQuarantineMillis() default LONGEST_QUARANTINE_MILLIS;

  @AttributeDefinition(
      name = "Permits of CPU devices",
      description =
          "Executions at once on a CPU device that arrives from now on; 0 for one per processor",
      min = "0")
  int cpuPermits() default CPU_PERMITS;

  @AttributeDefinition(
      name = "Permits of other devices",
      description =
          "Executions at once on any other device that arrives from now on: one, and the next",
      min = "1")
  int permits() default PERMITS;

  @AttributeDefinition(
      name = "Waiting executions",
      description = "Executions of one application and priority that may wait for a device",
      min = "1")
  int waiting() default WAITING;

  @AttributeDefinition(
      name = "Sampling rate",
      description = "The share of executions, 0 to 1, that are compared with the reference",
      min = "0",
      max = "1")
  double samplingRate() default SAMPLING_RATE;
}
