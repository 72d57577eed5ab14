// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.DeviceInfo;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Attribute;
import org.osgi.annotation.bundle.Capability;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Declares a driver, once, at its component: each fact becomes a property of the service and an
 * attribute of the bundle's capability {@code thalamus.device}, so that a resolver finds a device
 * by need, and a tool knows it before it runs. The facts are those of {@link DeviceInfo}; a test
 * holds all three equal.
 *
 * <p>A fact {@code x} is the property {@code thalamus.x} and the attribute {@code x}, but for the
 * name: that is {@code thalamus.device} in both.
 */
@Capability(namespace = DeviceDriver.NAMESPACE)
@ComponentPropertyType
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface DeviceDriver {
  /** The namespace of the capability and the name of the service property. */
  String NAMESPACE = "thalamus.device";

  /** Makes {@link #device()} the property {@code thalamus.device}. */
  String PREFIX_ = "thalamus.";

  /** The short name of the device, for example {@code cpu}. */
  @Attribute(DeviceDriver.NAMESPACE)
  String device();

  /** A {@code DeviceType}. */
  @Attribute
  String type();

  /** Files that a compilation's code is stored in. */
  @Attribute
  int modelCacheFiles();

  /** Files that a compilation's data is stored in. */
  @Attribute
  int dataCacheFiles();

  /** Returns whether the device allocates buffers of its own. */
  @Attribute
  boolean memoryDomain();

  /** The names of the extensions that it knows. */
  @Attribute
  String[] extensions();

  /**
   * Returns the declared performance: a type, or {@code IF}, {@code WHILE}, {@code RELAXED_SCALAR}
   * or {@code RELAXED_TENSOR}; the ratio of time; that of power.
   */
  @Attribute
  String[] performance();
}
