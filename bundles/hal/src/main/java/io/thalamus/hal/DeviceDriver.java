// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Attribute;
import org.osgi.annotation.bundle.Capability;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Declares a driver, once, at its component: the service gets the property {@code thalamus.device}
 * with the device's name, and the bundle the capability of the same name, so that a resolver finds
 * a device by need.
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
}
