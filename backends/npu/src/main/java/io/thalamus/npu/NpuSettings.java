// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** What can be configured of the device. A change makes it leave and come back. */
@ObjectClassDefinition(name = "Thalamus simulated NPU")
@interface NpuSettings {
  /** Rows of the systolic array. */
  @AttributeDefinition(
      name = "Rows",
      description = "Rows of the systolic array: inputs that one cycle multiplies",
      min = "1",
      max = "256")
  int rows() default 16;

  /** Columns of the systolic array. */
  @AttributeDefinition(
      name = "Columns",
      description = "Columns of the systolic array: output channels that one cycle adds to",
      min = "1",
      max = "256")
  int columns() default 16;
}
