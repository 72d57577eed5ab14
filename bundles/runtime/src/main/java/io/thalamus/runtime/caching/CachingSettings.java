// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of compilation caching. A change takes effect at once. */
@ObjectClassDefinition(
    name = "Thalamus compilation caching",
    description = "How much room stored compilations may take")
public @interface CachingSettings {
  long QUOTA_BYTES = 1L << 30;

  /** The bytes that may stay in a caching directory when something is added to it. */
  @AttributeDefinition(
      name = "Quota",
      description = "Bytes of a caching directory beyond which the entries go that are worth least",
      min = "0")
  long quotaBytes() default QUOTA_BYTES;
}
