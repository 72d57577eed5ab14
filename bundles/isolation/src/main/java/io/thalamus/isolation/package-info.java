// SPDX-License-Identifier: Apache-2.0
/**
 * Device bundles that run in a process of their own. The bundle itself is active here but hidden
 * from the component runtime, so that its driver is never loaded; a proxy of its device is
 * registered in its name.
 */
package io.thalamus.isolation;
