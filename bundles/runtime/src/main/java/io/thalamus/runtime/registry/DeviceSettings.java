// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the watch over devices. A change counts at once. */
@ObjectClassDefinition(
    name = "Thalamus device watch",
    description = "How long devices may take, and what happens to those that fail")
@interface DeviceSettings {
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

  /** How long a departing device may finish its running calls before they are abandoned. */
  @AttributeDefinition(
      name = "Drain time",
      description = "Milliseconds that a departing device has to finish its running calls",
      min = "0")
  long drainMillis() default DRAIN_MILLIS;

  /** No execution is given up before that. */
  @AttributeDefinition(
      name = "Shortest execution limit",
      description = "Milliseconds before which no execution counts as hung",
      min = "1")
  long executionFloorMillis() default EXECUTION_FLOOR_MILLIS;

  /** An execution is given up after so many times the longest that was measured. */
  @AttributeDefinition(
      name = "Execution factor",
      description = "An execution hangs after so many times the longest one measured",
      min = "1")
  int executionFactor() default EXECUTION_FACTOR;

  /** The limit of an execution of which nothing was measured yet. */
  @AttributeDefinition(
      name = "First execution limit",
      description = "Milliseconds that the first execution of a step may take",
      min = "1")
  long firstExecutionMillis() default FIRST_EXECUTION_MILLIS;

  /** No prepare is given up before that. */
  @AttributeDefinition(
      name = "Prepare limit",
      description = "Milliseconds before which no compilation for a device counts as hung",
      min = "1")
  long prepareMillis() default PREPARE_MILLIS;

  /** How long a device may take for facts, promises and closing. */
  @AttributeDefinition(
      name = "Answer limit",
      description = "Milliseconds that a device may take to tell facts and promises, and to close",
      min = "1")
  long answerMillis() default ANSWER_MILLIS;

  /** So many failed calls within the window mean quarantine. */
  @AttributeDefinition(
      name = "Failures",
      description = "So many failed calls within the window put a device into quarantine",
      min = "1")
  int failures() default FAILURES;

  /** In which failures count. */
  @AttributeDefinition(
      name = "Window",
      description = "Milliseconds in which failures count together",
      min = "1")
  long windowMillis() default WINDOW_MILLIS;

  /** How long the first quarantine lasts. */
  @AttributeDefinition(
      name = "First quarantine",
      description = "Milliseconds of the first quarantine; each next one doubles it",
      min = "1")
  long quarantineMillis() default QUARANTINE_MILLIS;

  /** How long a quarantine lasts at most. */
  @AttributeDefinition(
      name = "Longest quarantine",
      description = "Milliseconds that a quarantine lasts at most",
      min = "1")
  long longestQuarantineMillis() default LONGEST_QUARANTINE_MILLIS;

  /** The share of executions whose steps are executed again on the reference and compared. */
  @AttributeDefinition(
      name = "Sampling rate",
      description = "The share of executions, 0 to 1, that are compared with the reference",
      min = "0",
      max = "1")
  double samplingRate() default 0;
}
