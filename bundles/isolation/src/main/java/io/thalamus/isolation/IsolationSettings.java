// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of isolated devices. A change restarts the bundles that it concerns. */
@ObjectClassDefinition(
    name = "Thalamus isolated devices",
    description = "Which devices run in a process of their own, and how long they may be silent")
@Retention(RetentionPolicy.RUNTIME)
public @interface IsolationSettings {
  @AttributeDefinition(
      name = "Devices",
      description = "Short names of devices whose bundles run in a process of their own")
  String[] devices() default {};

  @AttributeDefinition(
      name = "Java options",
      description = "Options of the processes' virtual machines, for example -Xmx512m")
  String[] javaOptions() default {};

  @AttributeDefinition(
      name = "Descriptors",
      description = "Whether memory is mapped by descriptor where the system allows it")
  boolean descriptors() default true;

  @AttributeDefinition(
      name = "Start limit",
      description = "Milliseconds after which a process that has no device yet is ended",
      min = "1")
  long startMillis() default 60_000;

  @AttributeDefinition(
      name = "First restart delay",
      description = "Milliseconds before a process that has ended is started again",
      min = "0")
  long restartMillis() default 100;

  @AttributeDefinition(
      name = "Longest restart delay",
      description = "Milliseconds up to which the delay doubles while processes end early",
      min = "0")
  long longestRestartMillis() default 30_000;

  @AttributeDefinition(
      name = "Execution limit",
      description = "Milliseconds without a sign of life after which an execution hangs",
      min = "1")
  long executionMillis() default 60_000;

  @AttributeDefinition(
      name = "Call limit",
      description = "Milliseconds without a sign of life after which any other call hangs",
      min = "1")
  long callMillis() default 120_000;
}
