// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the page. */
@ObjectClassDefinition(
    name = "Thalamus dashboard",
    description = "How often the page is brought up to date, and for how many")
@Retention(RetentionPolicy.RUNTIME)
public @interface DashboardSettings {
  @AttributeDefinition(
      name = "Period",
      description = "Milliseconds between two looks at what has changed",
      min = "50")
  long periodMillis() default 1_000;

  @AttributeDefinition(
      name = "Watchers",
      description = "Pages that are brought up to date at a time; more are refused with 503",
      min = "1")
  int watchers() default 32;
}
