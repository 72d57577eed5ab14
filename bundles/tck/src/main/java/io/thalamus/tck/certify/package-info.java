// SPDX-License-Identifier: Apache-2.0
/**
 * The whole conformance kit on one device: {@link Certification}. The device may be made with
 * {@code new}, or be a service of a running container.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.certify;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
