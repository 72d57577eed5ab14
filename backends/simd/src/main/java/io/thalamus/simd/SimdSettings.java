// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the device. A change makes it leave and come back. */
@ObjectClassDefinition(name = "Thalamus SIMD device")
public @interface SimdSettings {
  /** Threads that compute one execution together, its caller included. */
  @AttributeDefinition(
      name = "Threads",
      description = "Threads that compute one execution together; 0 for one on each processor",
      min = "0")
  int threads() default 0;
}
