// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the protocol over REST. */
@ObjectClassDefinition(
    name = "Thalamus Open Inference Protocol",
    description = "What requests may need beside the bytes of their bodies")
@Retention(RetentionPolicy.RUNTIME)
public @interface OipSettings {
  @AttributeDefinition(
      name = "Limit of decompressed bodies",
      description = "Bytes that a compressed body may have once it is decompressed",
      min = "0",
      max = "2000000000")
  long inflatedLimit() default 256L << 20;

  @AttributeDefinition(
      name = "Memory limit",
      description =
          "Bytes of outputs, of values that came as JSON and of decompressed bodies that are held"
              + " at a time; more is refused with 429",
      min = "0")
  long memoryLimit() default 1L << 30;
}
