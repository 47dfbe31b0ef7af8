// What each score gets of a mean's gradient: minus its share where it is the target's, else nothing.
//
// launch: ignored:i32
// expects: fn class_of(i: u32) -> u32, the class of score i

fn value_at(i: u32) -> T {
    let index = index_nth(i);
    let counts = index == i32(class_of(i)) && index != launch.ignored;
    return select(T(), T(-share_type(input_nth(0u)) * share_nth(0u)), counts);
}
